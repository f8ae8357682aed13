"""BenchPlan: what a decode benchmark measures, prepared and run."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import shutil
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cli.console import quiet_tensorflow
from models.contract.errors import ConfigError
from serving.benchmarks.decode_benchmark import DecodeBenchmark, random_prompts
from serving.benchmarks.decode_run import Contender
from serving.benchmarks.decode_summary import as_json, summarize
from serving.benchmarks.worker_process import WorkerProcess

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
        engines = len(self.dtypes) + self.sampled + len(self._peer_names())
        packages = 0 if self.package or self.reuse else len(self.dtypes) * len(self._profiles())
        turns = engines * (self.rounds + 1) * self.tokens * _STEP_SECONDS * len(self.batches)
        seconds = packages * _EXPORT_SECONDS + engines * _LOAD_SECONDS * len(self.batches) + turns
        return (
            f"About {max(1, round(seconds / 60))} min; an engine takes two to four times its weights of "
            f"memory, {self.out} three times on disk."
        )

    def run(self, tell: Callable[[str], None]) -> dict[str, Any]:
        """Prepare and measure.

        Args:
            tell: called with a line about each thing done.

        Returns:
            Plain values: "machine", "settings", "engines", "missing", "summary", "scaling",
            "recompute" and "runs".

        Raises:
            ConfigError: a name or a size does not fit.
            CheckpointError, PackageError: the source cannot be read.
        """
        quiet_tensorflow()
        self.out.mkdir(parents=True, exist_ok=True)
        source = self._source(tell)
        packages = self._packages(source, tell)
        contenders = {batch: self._contenders(batch, source, packages) for batch in self.batches}
        benchmark = self._benchmark(_vocab_size(source), self.prompt, self.tokens, tell)
        for batch, taking_part in contenders.items():
            benchmark.measure(batch, taking_part)
        if self.profile:
            self._trace(contenders[self.batches[0]][0], _vocab_size(source), tell)
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
            from models.contract.package import resolve_package
            from models.hf_export import export_hf

            assert self.package is not None
            export_hf(resolve_package(self.package), target)
        return target

    def _profile_of(self, batch: int) -> str:
        return "off" if self.xla == "off" else "latency" if batch == 1 else "throughput"

    def _profiles(self) -> list[str]:
        return list(dict.fromkeys(map(self._profile_of, self.batches)))

    def _packages(self, source: Path, tell: Callable[[str], None]) -> dict[tuple[str, str], Path]:
        """Package by dtype and profile."""
        from models.contract.package import resolve_package
        from models.export import export_package
        from models.export_options import ExportOptions

        if self.package:
            package = resolve_package(self.package)
            return {(self.dtypes[0], profile): package for profile in self._profiles()}
        made = {}
        for dtype in self.dtypes:
            for profile in self._profiles():
                base = self.out / (self.random or source.name) / f"{dtype}-{profile}"
                if not (self.reuse and base.is_dir()):
                    tell(f"exporting {base}")
                    shutil.rmtree(base, ignore_errors=True)
                    options = ExportOptions(
                        model_name="bench", dtype=dtype, profile=profile, num_blocks=self._blocks()
                    )
                    export_package(source, base, options, version=1)
                made[dtype, profile] = resolve_package(base)
        return made

    def _blocks(self) -> int:
        tokens = max(max(self.batches) * (self.prompt + self.tokens), _LIVE + 2 * self.steps)
        return 2 + max(self.batches) + -(-tokens // 16)

    def _contenders(self, batch: int, source: Path, packages: dict[tuple[str, str], Path]) -> list[Contender]:
        """Who takes part; the first one is what the others are compared with."""
        job = {
            "checkpoint": str(source.absolute()),
            "cache": str((self.out / (self.random or source.name) / "converted").absolute()),
            "threads": self._threads(),
            "steps": self.steps,
        }
        size = (source / "model.safetensors").stat().st_size
        profile = self._profile_of(batch)
        dtypes = self.dtypes[:1] if self.package else self.dtypes
        own = [
            _own(_own_name(dtype), {**job, "package": str(packages[dtype, profile].absolute())})
            for dtype in dtypes
        ]
        if self.sampled:
            own.append(_own(f"{OWN} sampled", {**own[0].job, "sampling": _SAMPLING}))
        python = self.peer_python or Path(sys.executable)
        peers = [Contender(*_PEERS[name], job, python, size) for name in self._peer_names()]
        if "int8" in dtypes and "ctranslate2" in self._peer_names():
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
        bandwidths = [run.bandwidth for run in benchmark.runs]
        return {
            "machine": {
                "processor": _processor(),
                "threads": self._threads(),
                "read_bandwidth": statistics.median(bandwidths) if bandwidths else None,
            },
            "settings": {
                "source": self.random or str(self.checkpoint or self.package),
                **{name: getattr(self, name) for name in ("prompt", "tokens", "steps", "rounds", "xla")},
            },
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
        if _context(source) < _LIVE + self.steps + 1:
            return None
        benchmark = self._benchmark(_vocab_size(source), _LIVE, self.steps + 1, tell)
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


def _own_name(dtype: str) -> str:
    return OWN if dtype == "float32" else f"{OWN} {dtype}"


def _own(name: str, job: dict[str, Any]) -> Contender:
    from models.contract.manifest import Manifest

    weights = Manifest.load(Path(job["package"])).memory_bytes["weights"]
    return Contender(name, _ENGINE, job, Path(sys.executable), weights)


def _config(source: Path) -> dict[str, Any]:
    path = source / "config.json"
    try:
        config: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"checkpoint {source}: no readable config.json.",
            field="checkpoint",
            remedy="Name a Hugging Face checkpoint directory.",
        ) from error
    return config


def _vocab_size(source: Path) -> int:
    return int(_config(source)["vocab_size"])


def _context(source: Path) -> int:
    config = _config(source)
    return int(config.get("n_positions") or config.get("max_position_embeddings") or 0)


def _processor() -> str:
    """The processor's name where the system tells it."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
