"""Reference tokenizers: loading, chat templates, and what a token count means."""

from wholecurve.tokens.batch import AnswerColumns, PromptColumns, count_answers, count_prompts
from wholecurve.tokens.count import AnswerCount, AnswerCounter, Method, ResponseRow
from wholecurve.tokens.inputs import InputCount, count_inputs
from wholecurve.tokens.mismatch import CountSource, Mismatch, compare_counts, count_source
from wholecurve.tokens.tokenizer import Tokenizer, TokenizerSpec, load_tokenizer

__all__ = [
    "AnswerColumns",
    "AnswerCount",
    "AnswerCounter",
    "CountSource",
    "InputCount",
    "Method",
    "Mismatch",
    "PromptColumns",
    "ResponseRow",
    "Tokenizer",
    "TokenizerSpec",
    "compare_counts",
    "count_answers",
    "count_inputs",
    "count_prompts",
    "count_source",
    "load_tokenizer",
]
