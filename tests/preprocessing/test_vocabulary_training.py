from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from models.contract.errors import ConfigError, DataError
from preprocessing.tokenizers import load_tokenizer
from preprocessing.tokenizers.load import read_spec
from preprocessing.tokenizers.merge_rules import made_tokens
from preprocessing.vocabulary_config import VocabularyConfig
from preprocessing.vocabulary_training import train_vocabulary, write_vocabulary

TEXTS = [path.read_text() for path in sorted(Path(__file__).parent.glob("test_*.py"))]
STRANGE = "é\u0301 naïve\u00a0中文字 🤷🏽‍♀️ 1234567 can't CAN'T\r\n\r\n  \t x\x00y <|endoftext|> <|pad|>"
CONFIG = VocabularyConfig(size=1000, specials=("<|endoftext|>", "<|pad|>"))
PROGRAM = """
import sys
from pathlib import Path
from preprocessing.vocabulary_config import VocabularyConfig
from preprocessing.vocabulary_training import train_vocabulary
texts = [path.read_text() for path in map(Path, sys.argv[2:])]
sys.stdout.write(train_vocabulary(texts, VocabularyConfig.model_validate_json(sys.argv[1])).to_str(True))
assert "tensorflow" not in sys.modules
"""


def _trained_elsewhere(files: list[Path], **environment: str) -> str:
    arguments = [CONFIG.model_dump_json(), *map(str, files)]
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        env={**os.environ, **environment},
        cwd=Path(__file__).parents[2],
        text=True,
        check=True,
        capture_output=True,
    ).stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vocabulary")
    write_vocabulary(folder, train_vocabulary(TEXTS, CONFIG), CONFIG)
    return folder


def test_the_same_corpus_gives_the_same_bytes_in_every_process_and_order(folder: Path):
    files = sorted(Path(__file__).parent.glob("test_*.py"))
    shuffled = random.Random(1).sample(files, len(files))
    one = _trained_elsewhere(files, PYTHONHASHSEED="1", RAYON_NUM_THREADS="1")
    two = _trained_elsewhere(shuffled, PYTHONHASHSEED="2", RAYON_NUM_THREADS="4")
    assert one == two
    assert (folder / "tokenizer.json").read_text() == one + "\n"


@pytest.mark.parametrize("pattern", ["gpt2", "gpt2_digits", "llama3", "qwen2"])
def test_the_loader_takes_what_is_made_and_gives_the_ids_of_the_reference(tmp_path: Path, pattern: str):
    config = VocabularyConfig(size=700, pattern=pattern, specials=CONFIG.specials)
    write_vocabulary(tmp_path, train_vocabulary(TEXTS, config), config)
    loaded = load_tokenizer(tmp_path)
    reference = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    reference.encode_special_tokens = True
    texts = [*TEXTS[:3], STRANGE]
    assert loaded.encode_batch(texts) == [reference.encode(text).ids for text in texts]
    assert (loaded.vocab_size, loaded.eos_ids) == (700, (0,))


def test_every_token_has_one_rule_that_its_own_bytes_lead_to(folder: Path):
    spec = read_spec(folder)
    assert made_tokens(spec.vocab, spec.merges) == [left + right for left, right in spec.merges]


def test_special_tokens_come_first_then_the_bytes(folder: Path):
    loaded = load_tokenizer(folder)
    assert loaded.special_ids == {"<|endoftext|>": 0, "<|pad|>": 1}
    assert sorted(loaded.token_bytes[2:258]) == [bytes([byte]) for byte in range(256)]
    assert all(len(token) > 1 for token in loaded.token_bytes[258:])


def test_a_vocabulary_without_merges_is_the_bytes(tmp_path: Path):
    config = VocabularyConfig(size=257)
    write_vocabulary(tmp_path, train_vocabulary([], config), config)
    assert load_tokenizer(tmp_path).kind == "bytes"


def test_a_corpus_that_is_too_small_is_told_what_it_gives():
    with pytest.raises(
        DataError, match=r"1,000 tokens is wanted, but the training text gives 260: no.*260 or"
    ):
        train_vocabulary(["aaaa aaaa aaaa"], VocabularyConfig(size=1000))


def test_rare_pairs_become_no_tokens():
    config = VocabularyConfig(size=258, min_frequency=4)
    with pytest.raises(DataError, match="no further pair occurs 4 times"):
        train_vocabulary(["ab ab ab"], config)
    assert train_vocabulary(["ab ab ab ab"], config).get_vocab_size() == 258


@pytest.mark.parametrize("special", ["end", " end", "<|", "'s", "\n\n", "Ā!", "Ġ<"])
def test_a_special_token_that_text_could_become_is_refused(special: str):
    with pytest.raises(ConfigError, match=r"is one word of the pattern gpt2_digits.*`<\|name\|>`"):
        train_vocabulary([], VocabularyConfig(specials=(special,)))
