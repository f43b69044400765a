"""Every known pitfall of benchmark clients for served models: the test that would catch it here, or why it has none.

A pitfall is a fault that a tool of this kind has had. Each has an id, a title in our own words, and either the test
that shows it (`folder/test_file.py::test_name`, whose name, docstring or comments hold the id) or the piece of work
that will bring the thing it can happen to. `test_pitfalls.py` keeps this table true.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Later(StrEnum):
    """What has to be there before the fault can happen."""

    PACKAGES = "submission packages and their checker"
    AGENTIC = "replay of conversations with a history that grows"


Where = str | Later

PITFALLS: Final[tuple[tuple[str, str, Where], ...]] = (
    # Event streams
    ("SSE-1", "an event cut between two reads", "run/test_pitfalls_wire.py::test_an_event_cut_between_two_reads"),
    ("SSE-2", "several events in one read", "run/test_pitfalls_wire.py::test_several_events_in_one_read"),
    ("SSE-3", "no space after the field name", "wire/test_wire_answer.py::test_sse_3_space_after_the_field_name"),
    ("SSE-4", "lines that end with CR LF", "run/test_pitfalls_wire.py::test_line_ends"),
    ("SSE-5", "comments taken for output", "run/test_pitfalls_wire.py::test_comments_are_nothing"),
    ("SSE-6", "a role taken for the first token", "run/test_pitfalls_wire.py::test_a_role_is_no_token"),
    ("SSE-7", "an error object under status 200", "run/test_pitfalls_wire.py::test_an_error_inside_a_200_stream"),
    ("SSE-8", "null where text is expected", "run/test_pitfalls_wire.py::test_nulls_in_a_delta"),
    ("SSE-9", "usage beside an empty list of choices", "run/test_pitfalls_wire.py::test_usage_with_empty_choices"),
    ("SSE-10", "one event of megabytes", "run/test_pitfalls_wire.py::test_one_very_long_event"),
    # Connections
    ("NET-1", "a hidden pool of 100 connections", "run/test_run_load.py::test_300_at_once"),
    ("NET-2", "a hidden limit of 1,000 connections", "cli/test_cli_pitfalls.py::test_1600_at_once_from_the_command"),
    (
        "NET-3",
        "no local port left, and the server is blamed",
        "run/test_pitfalls_load.py::test_local_ports_that_run_out_are_this_machines_fault",
    ),
    (
        "NET-4",
        "an idle connection closed as it is used again",
        "run/test_pitfalls_load.py::test_a_resent_request_keeps_its_clock_and_is_counted",
    ),
    (
        "NET-5",
        "a hidden time limit that cuts the slowest answers",
        "run/test_pitfalls_wire.py::test_a_hanging_stream_ends_in_the_summary_as_a_cut_value",
    ),
    ("NET-6", "one silent stream holds up the run", "cli/test_cli_run_faults.py::test_words_code_and_files"),
    ("NET-7", "an error page read as JSON", "run/test_pitfalls_load.py::test_a_thousand_error_pages"),
    ("NET-8", "proxy variables obeyed unasked", "cli/test_cli_pitfalls.py::test_proxy_variables_are_not_obeyed"),
    ("NET-9", "retries that nobody asked for", "run/test_run_load.py::test_no_retry_unless_asked_for"),
    ("NET-10", "clumps that make gaps look tiny", "cli/test_cli_pitfalls.py::test_clumps_are_told_in_every_report"),
    ("NET-11", "too few file descriptors, noticed half-way", "run/test_preflight.py::test_a_run_under_a_real_limit"),
    # Time
    ("TIM-1", "the wait for a slot, left out or mixed in", "run/test_run_load.py::test_slot_wait_is_its_own_figure"),
    ("TIM-2", "not measured stored as zero", "run/test_pitfalls_wire.py::test_not_measured_is_not_zero"),
    (
        "TIM-3",
        "pace divided by the length that was asked for",
        "run/test_pitfalls_wire.py::test_tpot_divides_by_the_tokens_that_came",
    ),
    ("TIM-4", "answers of one token", "run/test_pitfalls_wire.py::test_one_token_answers_have_no_tpot"),
    (
        "TIM-5",
        "usage and end marker timed as tokens",
        "run/test_pitfalls_wire.py::test_tpot_divides_by_the_tokens_that_came",
    ),
    ("TIM-6", "an event taken for a token", "run/test_pitfalls_wire.py::test_an_event_of_four_tokens"),
    ("TIM-7", "negative times", "run/test_pitfalls_wire.py::test_streams_that_close_before_any_token"),
    (
        "TIM-8",
        "a duration with start-up or shut-down in it",
        "run/test_pitfalls_load.py::test_the_run_lasts_from_first_issue_to_last_completion",
    ),
    (
        "TIM-9",
        "reasoning mixed with text",
        "run/test_pitfalls_wire.py::test_reasoning_and_the_first_visible_token",
    ),
    # Tokens
    ("TOK-1", "a begin token for every piece", "tokens/test_token_counts.py::test_one_hundred_one_token_events"),
    (
        "TOK-2",
        "text that does not encode to what was generated",
        "tokens/test_token_batches.py::test_text_that_does_not_encode_to_what_was_generated",
    ),
    (
        "TOK-3",
        "prompts counted without the chat template",
        "tokens/test_token_counts.py::test_input_goes_through_the_template_with_the_generation_prompt",
    ),
    (
        "TOK-4",
        "client and server count the prompt differently",
        "cli/test_cli_pitfalls.py::test_a_server_that_counts_the_prompt_otherwise_is_told",
    ),
    (
        "TOK-5",
        "made prompts that miss their length",
        "tokens/test_synthetic_lengths.py::test_every_prompt_encodes_to_the_asked_length",
    ),
    ("TOK-6", "running totals of usage added up", "run/test_pitfalls_wire.py::test_running_usage_totals"),
    ("TOK-7", "tool definitions not counted", "tokens/test_token_counts.py::test_tools_count"),
    ("TOK-8", "reasoning left out of the output", "run/test_pitfalls_wire.py::test_reasoning_tokens_are_output"),
    (
        "TOK-9",
        "long prompts cut by the tokenizer",
        "tokens/test_tokenizer_loading.py::test_counts_are_of_the_whole_text_and_without_special_tokens",
    ),
    # Load
    ("LOD-1", "a rate that drifts", "run/test_pitfalls_load.py::test_a_rate_does_not_drift"),
    (
        "LOD-2",
        "concurrency rounded over workers",
        "run/test_run_load.py::test_concurrency_is_exact_for_any_number_of_workers",
    ),
    ("LOD-3", "a stall that hides itself", "run/test_run_load.py::test_stall_shows_from_schedule"),
    (
        "LOD-4",
        "one request from every worker",
        "run/test_run_load.py::test_order_is_the_seeds_whatever_the_workers",
    ),
    (
        "LOD-5",
        "workers draw the same numbers",
        "run/test_run_load.py::test_order_is_the_seeds_whatever_the_workers",
    ),
    (
        "LOD-6",
        "rates cut to whole numbers",
        "load/test_load_patterns.py::test_lod_6_half_a_request_per_second_for_20_s_is_10_requests",
    ),
    (
        "LOD-7",
        "a ceiling estimated from too short a burst",
        "sweep/test_sweep_search.py::test_lod_7_a_trial_is_long_enough_for_the_ceiling",
    ),
    (
        "LOD-8",
        "freed slots that let a burst go",
        "run/test_pitfalls_load.py::test_slots_that_free_at_once_release_a_burst_that_is_shown",
    ),
    ("LOD-9", "endless rows, finite schedule", "run/test_pitfalls_load.py::test_endless_data_and_two_scheduled_sends"),
    # Warm-up
    (
        "WRM-1",
        "the prompt cache is measured",
        "cli/test_cli_pitfalls.py::test_a_second_run_on_the_same_prompts_is_flagged",
    ),
    (
        "WRM-2",
        "warm-up with the prompts that are measured",
        "config/test_config_resolve.py::test_wrm_2_warm_up_shares_no_prompt_with_the_measurement",
    ),
    (
        "WRM-3",
        "warm-up in the time budget",
        "run/test_pitfalls_load.py::test_the_time_budget_begins_after_the_warm_up",
    ),
    (
        "WRM-4",
        "a salt that some rows cannot take",
        "config/test_config_resolve.py::test_wrm_4_a_row_that_cannot_take_a_salt_is_named_with_the_remedy",
    ),
    (
        "WRM-5",
        "start and tail lower the throughput",
        "metrics/test_metrics_times.py::test_wrm_5_whole_run_figure_is_over_the_whole_time",
    ),
    (
        "WRM-6",
        "a drain without an end",
        "run/test_pitfalls_load.py::test_a_full_stage_that_never_ends_gives_way_to_the_next",
    ),
    # Conversations
    ("MT-1", "only the first exchange is sent", Later.AGENTIC),
    ("MT-2", "reasoning sent back as the answer", Later.AGENTIC),
    ("MT-3", "a history that outlives its stage", Later.AGENTIC),
    (
        "MT-4",
        "a failed turn stalls the rest",
        "run/test_run_load.py::test_turns_of_a_conversation_follow_one_another",
    ),
    ("MT-5", "tool results paired by position", Later.AGENTIC),
    (
        "MT-6",
        "pauses between turns lost, or in a latency",
        "run/test_pitfalls_load.py::test_pauses_between_turns_are_kept_and_in_no_latency",
    ),
    ("MT-7", "a session header on some paths only", Later.AGENTIC),
    ("MT-8", "roles that the server refuses in mid-run", Later.AGENTIC),
    ("MT-9", "large conversations lock processes up", Later.AGENTIC),
    ("MT-10", "a step that waits for ever for another", Later.AGENTIC),
    # Data sets
    (
        "DAT-1",
        "no usable column, and nothing happens",
        "datasets/test_dataset_files.py::test_no_usable_column_is_refused_with_both_lists",
    ),
    ("DAT-2", "rows repeated without a word", "cli/test_cli_pitfalls.py::test_repeats_are_in_the_report"),
    (
        "DAT-3",
        "few distinct prompts",
        "cli/test_cli_pitfalls.py::test_few_distinct_prompts_and_a_long_shared_start_are_in_the_report",
    ),
    (
        "DAT-4",
        "characters taken for tokens",
        "tokens/test_synthetic_lengths.py::test_every_prompt_encodes_to_the_asked_length",
    ),
    ("DAT-5", "a length setting without effect", "datasets/test_workload.py::test_length_distributions"),
    (
        "DAT-6",
        "a data set that changed since",
        "datasets/test_dataset_files.py::test_jsonl_with_fingerprint_and_row_count",
    ),
    ("DAT-7", "broken rows left out silently", "datasets/test_dataset_files.py::test_malformed_rows"),
    (
        "DAT-8",
        "one output limit for all rows",
        "datasets/test_dataset_files.py::test_row_limits_reach_the_body_and_only_where_given",
    ),
    # Scoring
    (
        "ACC-1",
        "a broken grader gives zero",
        "accuracy/test_pitfalls_accuracy.py::test_acc_1_a_broken_grader_gives_no_score",
    ),
    (
        "ACC-2",
        "failed requests leave the denominator",
        "accuracy/test_pitfalls_accuracy.py::test_acc_2_failed_requests_stay_in_the_denominator",
    ),
    (
        "ACC-3",
        "thinking uses up the answer",
        "accuracy/test_pitfalls_accuracy.py::test_acc_3_thinking_that_uses_up_the_answer_is_told_and_not_asked_again",
    ),
    (
        "ACC-4",
        "half a thought taken for the answer",
        "accuracy/test_pitfalls_accuracy.py::test_acc_4_half_a_thought_is_no_answer",
    ),
    (
        "ACC-5",
        "right answers not recognised",
        "accuracy/test_pitfalls_accuracy.py::test_acc_5_right_answers_are_recognised",
    ),
    (
        "ACC-6",
        "scored under another load",
        "accuracy/test_pitfalls_accuracy.py::test_acc_6_accuracy_has_the_measured_load_and_sampling",
    ),
    (
        "ACC-7",
        "one threshold for every model",
        "accuracy/test_pitfalls_accuracy.py::test_acc_7_every_model_has_a_bound_of_its_own",
    ),
    # Statistics
    (
        "STA-1",
        "percentiles averaged over workers",
        "metrics/test_metrics_quantile.py::test_sta_1_percentiles_are_over_pooled_samples",
    ),
    (
        "STA-2",
        "tails of few samples",
        "metrics/test_metrics_quantile.py::test_sta_2_tails_that_n_cannot_support_are_marked",
    ),
    (
        "STA-3",
        "nothing measured shown as the best result",
        "cli/test_cli_pitfalls.py::test_a_server_that_refuses_everything_has_no_figures",
    ),
    (
        "STA-4",
        "by request or by token",
        "metrics/test_metrics_times.py::test_sta_4_tpot_is_by_request_and_gaps_by_token",
    ),
    (
        "STA-5",
        "keys and units of percentiles",
        "metrics/test_metrics_quantile.py::test_sta_5_keys_are_one_text_on_the_scale_0_to_100",
    ),
    (
        "STA-6",
        "a percentile above the maximum",
        "metrics/test_metrics_quantile.py::test_sta_6_no_percentile_lies_outside_the_samples",
    ),
    # Reports and files
    ("REP-1", "NaN in JSON", "cli/test_cli_pitfalls.py::test_a_server_that_refuses_everything_has_no_figures"),
    ("REP-2", "columns that shift between rows", "cli/test_cli_export.py::test_csv_has_one_header_and_blanks"),
    ("REP-3", "a kill that takes everything along", "cli/test_cli_signals.py::test_a_killed_run_is_finished_by_report"),
    (
        "REP-4",
        "a page needs a network",
        "report/test_report_html.py::test_rep_4_the_page_asks_nothing_of_a_network",
    ),
    ("REP-5", "another format than was asked for", "cli/test_cli_export.py::test_jsonl_and_parquet_say_the_same"),
    ("REP-6", "files written over", "cli/test_cli_run.py::test_two_runs_in_one_second_have_two_folders"),
    (
        "REP-7",
        "a report that does not say how to do it again",
        "cli/test_cli_pitfalls.py::test_the_commit_is_the_tools_and_not_that_of_the_folder",
    ),
    (
        "REP-8",
        "a failed run that ends green",
        "cli/test_cli_run_faults.py::test_failures_above_the_limit_are_code_1_after_everything_is_written",
    ),
    ("REP-9", "a checker that knows other rules", Later.PACKAGES),
    ("REP-10", "images that break the writing", "cli/test_cli_pitfalls.py::test_images_are_not_written_into_any_file"),
    # Command line
    ("CLI-1", "parts of a URL doubled or lost", "wire/test_wire_request.py::test_cli_1_urls_are_joined_with_one_v1"),
    (
        "CLI-2",
        "a malformed key header",
        "wire/test_wire_request.py::test_cli_2_a_key_may_have_bearer_before_it",
    ),
    ("CLI-3", "values that lose their type", "config/test_config_flags.py::test_cli_3_values_keep_their_json_type"),
    (
        "CLI-4",
        "a setting that only the first request has",
        "cli/test_cli_pitfalls.py::test_settings_are_in_every_body_of_every_phase",
    ),
    (
        "CLI-5",
        "sampling that nobody asked for",
        "cli/test_cli_pitfalls.py::test_no_sampling_is_said_to_be_the_servers_own",
    ),
    ("CLI-6", "a forced length that breaks a model", "cli/test_cli_pitfalls.py::test_a_forced_end_that_breaks_a_model"),
    ("CLI-7", "not ready, without a reason", "run/test_probe.py::test_certificates_that_fail"),
    ("CLI-8", "units mixed up", "metrics/test_metrics_summary.py::test_cli_8_a_fixed_latency_has_one_unit"),
    ("CLI-9", "silence in a job's log", "cli/test_cli_run.py::test_plain_lines_come_after_5_s_and_every_30_s"),
    ("CLI-10", "a list of rates", "sweep/test_sweep_levels.py::test_cli_10_a_level_given_twice_is_refused_by_name"),
    # Scale
    ("SCL-1", "the client is the limit", "metrics/test_metrics_facts.py::test_scl_1_worker_limits"),
    (
        "SCL-2",
        "counting and collecting while timing",
        "cli/test_cli_pitfalls.py::test_tokens_are_counted_when_the_load_is_over",
    ),
    ("SCL-3", "memory that grows with tokens", "run/test_pitfalls_load.py::test_memory_does_not_grow_with_tokens"),
    (
        "SCL-4",
        "full queues that lock up",
        "run/test_pitfalls_load.py::test_a_full_stage_that_never_ends_gives_way_to_the_next",
    ),
    ("SCL-5", "answers lost between processes", "run/test_pitfalls_load.py::test_a_killed_worker_among_eight"),
    (
        "SCL-6",
        "preparation outlasts the run",
        "tokens/test_synthetic_lengths.py::test_many_are_made_at_once",
    ),
    ("SCL-7", "a report that takes for ever", "run/test_large_runs.py::test_200_000_records_are_summarised"),
    # Secrets
    (
        "SEC-1",
        "arguments are printed",
        "cli/test_cli_secrets.py::test_a_refused_command_line_shows_no_value",
    ),
    ("SEC-2", "a key in a file", "cli/test_cli_pitfalls.py::test_a_key_that_the_server_repeats_is_not_kept"),
    (
        "SEC-3",
        "certificates not looked at",
        "cli/test_cli_run_faults.py::test_certificate_that_fails_is_refused_before_the_load",
    ),
    (
        "SEC-4",
        "data that runs code",
        "datasets/test_dataset_files.py::test_files_that_run_code_are_refused_and_not_opened",
    ),
    ("SEC-5", "prompts in logs", "cli/test_cli_pitfalls.py::test_a_refused_body_is_told_without_what_was_sent"),
    # Comparison
    (
        "CMP-1",
        "per-device rates of split systems",
        "curve/test_curve_cost.py::test_cmp_1_a_split_deployment_is_divided_by_everything",
    ),
    ("CMP-2", "points outside the frame", "curve/test_curve_meanings.py::test_cmp_2_no_value_is_hidden_by_its_size"),
    ("CMP-3", "the planned rate on the axis", "curve/test_curve_meanings.py::test_cmp_3_the_axis_is_the_achieved_rate"),
    (
        "CMP-4",
        "other output lengths compared",
        "curve/test_curve_compare.py::test_cmp_4_output_lengths_more_than_5_percent_apart",
    ),
    (
        "CMP-5",
        "noise read as a change",
        "curve/test_curve_compare.py::test_cmp_5_single_runs_are_marked_and_prove_nothing",
    ),
    (
        "CMP-6",
        "a frontier of another axis",
        "curve/test_curve_front.py::test_cmp_6_the_front_is_worked_out_again_for_other_axes",
    ),
    (
        "CMP-7",
        "cost figures on mixed bases",
        "curve/test_curve_cost.py::test_cmp_7_price_basis_and_token_basis_are_kept_apart",
    ),
)
