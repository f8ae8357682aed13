"""BenchPlan: what a decode benchmark measures, prepared and run."""

from __future__ import annotations

import dataclasses
import math
import os
import platform
import shutil
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cli.bench_limits import blocks_needed, check_context, check_package
from cli.console import quiet_tensorflow
from models.contract.manifest import Manifest
from models.contract.package import resolve_package
from models.decoder_config import DecoderConfig
from serving.benchmarks.decode_benchmark import DecodeBenchmark, random_prompts
from serving.benchmarks.decode_run import Contender
from serving.benchmarks.decode_summary import as_json, summarize
from serving.benchmarks.worker_process import WorkerProcess
from serving.runners.package_check import check_stateful

OWN = "tokenmill"
_ENGINE = "tokenmill_engine"
_PEERS = {
    "pytorch": ("PyTorch", "pytorch_engine"),
    "ctranslate2": ("CTranslate2", "ctranslate2_engine"),
    "llamacpp": ("llama.cpp", "llama_cpp_engine"),
    "kerashub": ("KerasHub", "keras_hub_engine"),
}
_SAMPLING = {"temperature": 1.0, "top_k": 50, "top_p": 0.95, "seed": 1}
_LIVE = 512
"""Tokens present where a cached step is compared with running all of them again."""

_EXPORT_SECONDS, _LOAD_SECONDS, _STEP_SECONDS = 50, 20, 0.03


@dataclasses.dataclass(frozen=True, slots=True)
class BenchPlan:
    """The options of `tokenmill bench decode`; see its help."""

    package: Path | None
    checkpoint: Path | None
    random: str | None
    dtypes: tuple[str, ...]
    xla: str
    batches: tuple[int, ...]
    prompt: int
    tokens: int
    steps: int
    peers: tuple[str, ...]
    peer_python: Path | None
    rounds: int
    threads: int | None
    sampled: bool
    reuse: bool
    out: Path
    profile: Path | None

    def estimate(self) -> str:
        """What it will take, for people."""
        engines = (1 if self.package else len(self.dtypes)) + self.sampled + len(self._peer_names())
        packages = 0 if self.package or self.reuse else len(self.dtypes) * len(self._profiles())
        turns = engines * (self.rounds + 1) * self.tokens * _STEP_SECONDS * len(self.batches)
        seconds = packages * _EXPORT_SECONDS + engines * _LOAD_SECONDS * len(self.batches) + turns
        return (
            f"About {max(1, round(seconds / 60))} min; an engine takes two to four times its weights of "
            f"memory, {self.out} three times on disk."
        )

    def check(self) -> None:
        """Refuse what the model has no room for, before anything is made.

        Raises:
            ConfigError: prompt and answer, or the rows, do not fit.
            CheckpointError, PackageError: the source cannot be read.
        """
        manifest = self._manifest()
        if manifest is not None:
            self._check_package(manifest, f"package {self.package}")
            return
        source = self.random or f"checkpoint {self.checkpoint}"
        check_context(self.prompt, self.tokens, self._config().max_length, source)

    def run(self, tell: Callable[[str], None]) -> dict[str, Any]:
        """Prepare and measure.

        Args:
            tell: called with a line about each thing done.

        Returns:
            Plain values: "machine", "settings", "package", "engines", "missing", "summary",
            "scaling", "recompute" and "runs".

        Raises:
            ConfigError: a size does not fit.
            CheckpointError, PackageError: the source cannot be read.
        """
        self.check()
        quiet_tensorflow()
        self.out.mkdir(parents=True, exist_ok=True)
        source = self._source(tell)
        if not self.reuse:
            # A conversion of the last run may be of other weights.
            shutil.rmtree(self._converted(source), ignore_errors=True)
        packages = self._packages(source, tell)
        contenders = {batch: self._contenders(batch, source, packages) for batch in self.batches}
        benchmark = self._benchmark(DecoderConfig.load(source).vocab_size, self.prompt, self.tokens, tell)
        for batch, taking_part in contenders.items():
            benchmark.measure(batch, taking_part)
        if self.profile:
            self._trace(contenders[self.batches[0]][0], DecoderConfig.load(source).vocab_size, tell)
        return {
            **self._facts(benchmark, contenders),
            "recompute": self._recompute(contenders[self.batches[0]][0], source, tell),
        }

    def _source(self, tell: Callable[[str], None]) -> Path:
        """The checkpoint whose weights all engines get."""
        if self.checkpoint:
            return self.checkpoint
        target = self.out / (self.random or "package") / "checkpoint"
        if self.random:
            from models.random_checkpoint import write_random_checkpoint

            if not (self.reuse and (target / "config.json").is_file()):
                tell(f"writing random weights to {target}")
                write_random_checkpoint(self.random, target)
        else:
            from models.hf_export import export_hf

            assert self.package is not None
            export_hf(resolve_package(self.package), target)
        return target

    def _converted(self, source: Path) -> Path:
        """Where the peers keep what they made of the checkpoint."""
        return self.out / (self.random or source.name) / "converted"

    def _manifest(self) -> Manifest | None:
        """Of the package that is measured as it is; None if packages are made for the benchmark.

        Raises:
            PackageError: there is none, or it has no KV memory.
        """
        if self.package is None:
            return None
        manifest = Manifest.load(resolve_package(self.package))
        check_stateful(self.package, manifest)
        return manifest

    def _config(self) -> DecoderConfig:
        """Sizes of the network whose checkpoint is measured."""
        if self.checkpoint:
            return DecoderConfig.load(self.checkpoint)
        quiet_tensorflow()
        from models.random_checkpoint import RANDOM_MODELS

        return RANDOM_MODELS[str(self.random)]

    def _check_package(self, manifest: Manifest, owner: str) -> None:
        check_package(manifest, self.prompt, self.tokens, max(self.batches), owner)

    def _profile_of(self, batch: int) -> str:
        return "off" if self.xla == "off" else "latency" if batch == 1 else "throughput"

    def _profiles(self) -> list[str]:
        return list(dict.fromkeys(map(self._profile_of, self.batches)))

    def _packages(self, source: Path, tell: Callable[[str], None]) -> dict[tuple[str, int], Path]:
        """Package by name of our engine and batch."""
        manifest = self._manifest()
        if manifest is not None:
            assert self.package is not None
            package = resolve_package(self.package)
            return {(_name_of_package(manifest), batch): package for batch in self.batches}
        made = {
            (dtype, profile): self._exported(source, dtype, profile, tell)
            for dtype in self.dtypes
            for profile in self._profiles()
        }
        return {
            (OWN if dtype == "float32" else f"{OWN} {dtype}", batch): made[dtype, self._profile_of(batch)]
            for dtype in self.dtypes
            for batch in self.batches
        }

    def _exported(self, source: Path, dtype: str, profile: str, tell: Callable[[str], None]) -> Path:
        """The version directory of a package of the checkpoint."""
        from models.export import export_package
        from models.export_options import DEFAULT_MAX_LENGTH, ExportOptions

        base = self.out / (self.random or source.name) / f"{dtype}-{profile}"
        if not (self.reuse and base.is_dir()):
            tell(f"exporting {base}")
            shutil.rmtree(base, ignore_errors=True)
            length = max(DEFAULT_MAX_LENGTH, self.prompt + self.tokens)
            options = ExportOptions(
                model_name="bench",
                max_length=min(length, DecoderConfig.load(source).max_length),
                dtype=dtype,
                profile=profile,
                num_blocks=self._blocks(),
            )
            export_package(source, base, options, version=1)
        package = resolve_package(base)
        # One that is used again may have been made for less.
        self._check_package(Manifest.load(package), f"package {package}")
        return package

    def _blocks(self) -> int:
        tokens = max(max(self.batches) * (self.prompt + self.tokens), _LIVE + 2 * self.steps)
        return 2 + max(self.batches) + -(-tokens // 16)

    def _contenders(self, batch: int, source: Path, packages: dict[tuple[str, int], Path]) -> list[Contender]:
        """Who takes part; the first one is what the others are compared with."""
        job = {
            "checkpoint": str(source.absolute()),
            "cache": str(self._converted(source).absolute()),
            "threads": self._threads(),
            "steps": self.steps,
        }
        own = [
            _own(name, {**job, "package": str(package.absolute())})
            for (name, rows), package in packages.items()
            if rows == batch
        ]
        if self.sampled:
            own.append(_own(f"{own[0].name} sampled", {**own[0].job, "sampling": _SAMPLING}))
        python = self.peer_python or Path(sys.executable)
        size = _float32_bytes(DecoderConfig.load(source))
        peers = [Contender(*_PEERS[name], job, python, size) for name in self._peer_names()]
        if any("int8" in contender.name for contender in own) and "ctranslate2" in self._peer_names():
            peers.append(
                Contender("CTranslate2 int8", "ctranslate2_engine", {**job, "compute_type": "int8"}, python)
            )
        return own + peers

    def _peer_names(self) -> list[str]:
        return [name for name in self.peers if name != "none"]

    def _threads(self) -> int:
        return self.threads or len(os.sched_getaffinity(0))

    def _benchmark(
        self, vocab_size: int, prompt: int, tokens: int, tell: Callable[[str], None]
    ) -> DecodeBenchmark:
        logs = self.out / "logs"
        logs.mkdir(exist_ok=True)
        return DecodeBenchmark(
            vocab_size=vocab_size,
            prompt=prompt,
            tokens=tokens,
            rounds=self.rounds,
            threads=self._threads(),
            python=Path(sys.executable),
            logs=logs,
            tell=tell,
        )

    def _facts(self, benchmark: DecodeBenchmark, contenders: dict[int, list[Contender]]) -> dict[str, Any]:
        everyone = [contender for group in contenders.values() for contender in group]
        references = {batch: group[0].name for batch, group in contenders.items()}
        summary = summarize(
            benchmark.runs, references, {contender.name: contender.weights_bytes for contender in everyone}
        )
        speeds = {line.batch: line.tokens_per_second for line in summary if line.engine == everyone[0].name}
        one = speeds.get(1)
        manifest = self._manifest()
        bandwidths = [run.bandwidth for run in benchmark.runs]
        return {
            "machine": {
                "processor": _processor(),
                "threads": self._threads(),
                "read_bandwidth": statistics.median(bandwidths) if bandwidths else None,
            },
            "settings": {
                "source": self.random or str(self.checkpoint or self.package),
                **{name: getattr(self, name) for name in ("prompt", "tokens", "steps", "rounds")},
                "xla": manifest.profile if manifest else self.xla,
            },
            "package": None
            if manifest is None
            else {name: getattr(manifest, name) for name in ("dtype", "profile", "cores")},
            "engines": benchmark.about,
            "missing": benchmark.missing,
            "summary": as_json(summary),
            "scaling": {str(batch): speed / one for batch, speed in speeds.items()} if one else {},
            "runs": [dataclasses.asdict(run) for run in benchmark.runs],
        }

    def _recompute(
        self, own: Contender, source: Path, tell: Callable[[str], None]
    ) -> dict[str, float] | None:
        """Milliseconds of a cached step and of running all tokens again; None where they do not fit."""
        manifest, length = Manifest.load(Path(own.job["package"])), _LIVE + self.steps + 1
        fits = blocks_needed(manifest.block_size, length, 1) <= manifest.num_blocks
        if length > manifest.max_length or not fits:
            return None
        benchmark = self._benchmark(DecoderConfig.load(source).vocab_size, _LIVE, self.steps + 1, tell)
        benchmark.measure(1, [own])
        if not benchmark.runs:
            return None
        ratios = [run.first_seconds / run.step_seconds for run in benchmark.runs]
        return {
            "live_tokens": _LIVE,
            "cached_ms": statistics.median(run.step_seconds for run in benchmark.runs) * 1e3,
            "recomputed_ms": statistics.median(run.first_seconds for run in benchmark.runs) * 1e3,
            "ratio": statistics.median(ratios),
        }

    def _trace(self, own: Contender, vocab_size: int, tell: Callable[[str], None]) -> None:
        assert self.profile is not None
        tell(f"tracing {own.name} to {self.profile}")
        prompts = random_prompts(vocab_size, self.batches[0], self.prompt)
        with WorkerProcess(own.engine, own.job, own.python, self.out / "logs" / "trace.log") as worker:
            tokens = min(self.tokens, 2 * self.steps + 1)
            worker.call("trace", directory=str(self.profile.absolute()), prompts=prompts, tokens=tokens)


def _name_of_package(manifest: Manifest) -> str:
    """Says what was measured: a package is not made for the benchmark."""
    profile = "without XLA" if manifest.profile == "off" else manifest.profile
    return f"{OWN} {manifest.dtype} {profile}"


def _own(name: str, job: dict[str, Any]) -> Contender:
    weights = Manifest.load(Path(job["package"])).memory_bytes["weights"]
    return Contender(name, _ENGINE, job, Path(sys.executable), weights)


def _float32_bytes(config: DecoderConfig) -> int:
    """Bytes of the weights as the peers hold them, whatever type and however many files they lie in."""
    from models.checkpoint_files import tensor_shapes

    return 4 * sum(math.prod(shape) for shape in tensor_shapes(config).values())


def _processor() -> str:
    """The processor's name where the system tells it."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
