"""TokenizerBenchPlan: what a tokenizer benchmark measures, prepared and run."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.console import quiet_tensorflow
from models.contract.errors import ConfigError, DataError

if TYPE_CHECKING:
    from preprocessing.tokenizers import GraphTokenizer
    from serving.benchmarks.tokenizer_benchmark import TokenizerBenchmark

PROMPT_BYTES = (200, 1_000, 4_000, 100_000)
WORD_BYTES = 43_000
_FILES = ("tokenizer.json", "tokenizer.model")
_PROMPTS = 40
_STAGE_BATCHES = 5


@dataclasses.dataclass(frozen=True, slots=True)
class TokenizerBenchPlan:
    """The options of `tokenmill bench tokenizer`; see its help.

    Args:
        growth_bytes: of the longer text of each adversarial family.
    """

    tokenizer: Path
    texts: tuple[Path, ...]
    parts: tuple[str, ...]
    batches: int
    batch_bytes: int
    rounds: int
    threads: int
    beam: bool
    out: Path
    growth_bytes: int = 1_000_000

    def run(self, tell: Callable[[str], None]) -> dict[str, Any]:
        """Measure.

        Args:
            tell: called with a line about each thing done.

        Returns:
            Plain values, also written to OUT/tokenizer.json.

        Raises:
            CheckpointError: the tokenizer cannot be reproduced exactly.
            ConfigError: OUT cannot be written.
            DataError: a text cannot be read, or there is none.
        """
        self._prepare_out()
        # Rayon reads it once, when its first batch is encoded.
        os.environ.update(RAYON_NUM_THREADS=str(self.threads), TOKENIZERS_PARALLELISM="true")
        quiet_tensorflow()
        from preprocessing.tokenizers import GraphTokenizer
        from preprocessing.tokenizers.load import read_spec

        file = tokenizer_file(self.tokenizer)
        spec = read_spec(file)
        tokenizer = GraphTokenizer(spec)
        with tempfile.TemporaryDirectory(prefix="bench-tokenizer-") as folder:
            package = save_tokenizer(tokenizer, Path(folder) / "package")
            result = self._describe(tokenizer, file, package)
            result.update(self._measure(tokenizer, spec, file, package, tell))
        if self.beam:
            from cli.bench_tokenizer_beam import beam_speed

            result["beam"] = beam_speed(file, tell)
        result["machine"]["load_after"] = os.getloadavg()[0]
        (self.out / "tokenizer.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        return result

    def _prepare_out(self) -> None:
        try:
            self.out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"--out {self.out}: {error.strerror}.", field="out") from error

    def _describe(self, tokenizer: GraphTokenizer, file: Path, package: Path) -> dict[str, Any]:
        about = {
            "file": str(file),
            "kind": tokenizer.kind,
            "vocab_size": tokenizer.vocab_size,
            "fingerprint": tokenizer.fingerprint,
            "package_bytes": (package / "saved_model.pb").stat().st_size,
        }
        machine = {"cores": os.cpu_count(), "cpu": platform.machine(), "load_before": os.getloadavg()[0]}
        settings = {**dataclasses.asdict(self), "tokenizer": str(file), "out": str(self.out)}
        settings |= {"texts": [str(path) for path in self.texts], "parts": list(self.parts)}
        return {"tokenizer": about, "machine": machine, "settings": settings}

    def _measure(
        self,
        tokenizer: GraphTokenizer,
        spec: Any,
        file: Path,
        package: Path,
        tell: Callable[[str], None],
    ) -> dict[str, Any]:
        from cli.bench_tokenizer_peers import peers
        from serving.benchmarks.tokenizer_benchmark import TokenizerBenchmark
        from serving.benchmarks.tokenizers.session_tokenizer import SessionTokenizer

        others, missing = peers(file, spec, self.threads)
        ours = SessionTokenizer(package, self.threads)
        try:
            benchmark = TokenizerBenchmark([ours, *others], tell)
            result: dict[str, Any] = {"missing": missing}
            batches = self._batches()
            if "speed" in self.parts:
                result["speed"] = benchmark.throughput(batches, self.rounds)
            if "latency" in self.parts:
                result["latency"] = self._latency(benchmark, batches, tell)
            if "growth" in self.parts:
                result.update(self._growth(benchmark, tokenizer, tell))
        finally:
            ours.close()
        if "stages" in self.parts:
            from serving.benchmarks.tokenizer_stages import stage_times

            result["stages"] = stage_times(package, batches[: _STAGE_BATCHES + 1], self.threads)
        return result

    def _batches(self) -> list[list[bytes]]:
        from serving.benchmarks.tokenizer_texts import batches

        try:
            found = batches(self.batches, self.batch_bytes, self.texts)
        except OSError as error:
            raise DataError(f"{error.filename}: cannot be read: {error.strerror}.", field="text") from error
        if not found:
            raise DataError(
                "there is no text to measure with.", field="text", remedy="Name files with --text."
            )
        return found

    def _latency(
        self, benchmark: TokenizerBenchmark, batches: list[list[bytes]], tell: Callable[[str], None]
    ) -> list[dict[str, Any]]:
        from serving.benchmarks.tokenizer_texts import prompts

        lines = []
        for size in PROMPT_BYTES:
            tell(f"one text of {size} bytes")
            seconds = benchmark.latency(prompts(size, _PROMPTS, batches))
            lines.append({"bytes": size, "milliseconds": {name: 1e3 * one for name, one in seconds.items()}})
        return lines

    def _growth(
        self, benchmark: TokenizerBenchmark, tokenizer: GraphTokenizer, tell: Callable[[str], None]
    ) -> dict[str, Any]:
        from serving.benchmarks.tokenizer_texts import FAMILIES, adversarial

        specials = list(tokenizer.special_ids)
        taken = set(tokenizer.special_ids.values())
        tokens = [token for index, token in enumerate(tokenizer.token_bytes) if token and index not in taken]
        word = adversarial("letter soup", WORD_BYTES, tokens, specials)
        seconds = benchmark.single_word(word, self.rounds)
        result: dict[str, Any] = {"single_word": {"bytes": len(word), "seconds": seconds}, "growth": []}
        for family in FAMILIES:
            tell(f"{family}: {self.growth_bytes // 2} and {self.growth_bytes} bytes")
            text = adversarial(family, self.growth_bytes, tokens, specials)
            result["growth"].append({"family": family, **benchmark.growth(text, self.rounds)})
        return result


def tokenizer_file(path: Path) -> Path:
    """The file that decides: the path itself, or in a folder tokenizer.json before tokenizer.model."""
    return next((path / name for name in _FILES if (path / name).is_file()), path)


def save_tokenizer(tokenizer: GraphTokenizer, directory: Path) -> Path:
    """Save the signature `tokenize`: text [B] string → ids [N] int32, row_splits [B + 1] int64."""
    import tensorflow as tf

    def tokenize(text: tf.Tensor) -> dict[str, tf.Tensor]:
        ids = tokenizer.encode(text)
        return {"ids": ids.values, "row_splits": ids.row_splits}

    root = tf.Module()
    root.tokenizer = tokenizer
    text = tf.TensorSpec([None], tf.string, name="text")
    function = tf.function(tokenize, input_signature=[text], autograph=False)
    tf.saved_model.save(root, str(directory), {"tokenize": function.get_concrete_function()})
    return directory
