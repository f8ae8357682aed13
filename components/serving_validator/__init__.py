"""ServingValidator: loads a package as a server would and checks that serving changes no token."""
