"""Writes prompts.jsonl: questions of the kinds that the trained model beside this file can answer.

Every capital and greeting it knows, comparisons, sums, stories and words to repeat, in a seeded order, so that the
answers of one run differ in length: one word, one number, or several sentences that end by themselves.

    python tests/engines/make_prompts.py            rewrites prompts.jsonl (a test holds the file against this script)
"""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

FILE = Path(__file__).resolve().parent / "prompts.jsonl"
SEED = 20
MAX_TOKENS = 48
STORY_TOKENS = 96

COUNTRIES = (
    "France Germany Italy Spain Japan China India Egypt Kenya Peru Chile Canada Cuba Greece Norway Sweden Poland "
    "Austria Ireland Portugal Russia Turkey Iran Nepal"
)
LANGUAGES = "Japanese Chinese Greek Russian French Spanish emoji"
ANIMALS = "dog cat bird horse fish fox bear mouse"
WORDS = "red blue green dog cat bird moon sun star tree house river book stone light bread"
SYSTEMS = ("You are a helpful assistant.", "Answer briefly.", "You are a test model.")


def questions(random: Random) -> list[tuple[str, int]]:
    """Question and output limit, in the order of the kinds."""
    capitals = [(f"What is the capital of {country}?", MAX_TOKENS) for country in COUNTRIES.split()]
    greetings = [(f"Say hello in {language}.", MAX_TOKENS) for language in LANGUAGES.split()]
    stories = [(f"Tell me a story about a {animal}.", STORY_TOKENS) for animal in ANIMALS.split() * 3]
    pairs = random.sample([(a, b) for a in range(10) for b in range(10) if a != b], 40)
    larger = [(f"Which is larger, {a} or {b}?", MAX_TOKENS) for a, b in pairs]
    sums = [(f"What is {random.randint(0, 12)} plus {random.randint(0, 12)}?", MAX_TOKENS) for _ in range(20)]
    words = WORDS.split()
    repeats = [(f"Repeat: {' '.join(random.sample(words, random.randint(2, 6)))}", MAX_TOKENS) for _ in range(13)]
    return [*capitals, *greetings, *stories, *larger, *sums, *repeats]


def rows() -> list[dict[str, object]]:
    """The rows of the data set: chat messages and an output limit each."""
    random = Random(SEED)
    made: list[dict[str, object]] = []
    for question, limit in questions(random):
        system = [{"role": "system", "content": random.choice(SYSTEMS)}] if random.random() < 0.3 else []
        made.append({"messages": [*system, {"role": "user", "content": question}], "max_tokens": limit})
    random.shuffle(made)
    return made


def text() -> str:
    return "".join(json.dumps(row) + "\n" for row in rows())


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
    print(f"{FILE.name}: {len(rows())} prompts")
