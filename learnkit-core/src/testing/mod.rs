//! What backends are tested with: the behaviour suite, fixtures and a clock that tests move.
//!
//! A backend crate takes `learnkit-core` with the feature `testing` as a dev-dependency and calls
//! [`behaviour_suite!`](crate::behaviour_suite) once in a test file. No other dependency is needed: the
//! tests bring their own runtime.

pub mod cases;
mod clock;
pub mod fixtures;
mod replay;
mod subject;

pub use clock::ManualClock;
pub use replay::{AskedAgain, checked_replay, follows};
pub use subject::{Need, Subject, check};

pub use crate::behaviour_suite;

/// One case of the suite, for listings and the completeness test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    /// The module in [`cases`].
    pub module: &'static str,
    /// The function, and the name of the test.
    pub name: &'static str,
    /// What the backend must be able to do; else the negative twin runs.
    pub need: Need,
}

/// Every case of [`behaviour_suite!`](crate::behaviour_suite), in the order of the suite.
pub const CASES: &[Case] = crate::__behaviour_cases!(names);

/// Expands to one named test per case: the contract of [`MemoryBackend`](crate::backend::MemoryBackend) and
/// [`RunStore`](crate::backend::RunStore).
///
/// `backend` is a future of a fresh store, evaluated once per test: a [`Store`](crate::backend::Store), or a
/// [`Subject`] that keeps a temporary directory alive. `capabilities` is what the backend declares. Where a
/// case needs what is missing, the test checks that the backend refuses it with `Unsupported`.
///
/// ```
/// mod behaviour {
///     use learnkit_core::MemoryStore;
///     use learnkit_core::backend::Store;
///
///     learnkit_core::testing::behaviour_suite! {
///         backend: async { Store::of(MemoryStore::new()) },
///         capabilities: MemoryStore::CAPABILITIES,
///     }
/// }
/// ```
#[macro_export]
macro_rules! behaviour_suite {
    (backend: $backend:expr, capabilities: $capabilities:expr $(,)?) => {
        $crate::__behaviour_cases!(suite[$backend][$capabilities]);
    };
}

/// The one list of cases; a test compares it with the functions in `cases/`.
#[doc(hidden)]
#[macro_export]
macro_rules! __behaviour_cases {
    ($($to:tt)*) => {
        $crate::__behaviour_expand! { $($to)* ;
            records Nothing {
                every_kind_reads_back_with_all_fields,
                f64_big_integers_and_unicode_read_back_exactly,
                d11_a_record_without_expiry_stays_without,
                d12_last_reinforced_is_kept,
                upsert_raises_the_revision,
                get_finds_nothing_under_an_unknown_id,
                d6_an_empty_batch_stores_nothing,
                f69_a_deleted_record_is_gone_and_deleting_again_says_so,
                f53_f70_tenants_with_odd_names_never_meet,
            }
            conditions Condition {
                create_refuses_an_id_that_exists,
                if_revision_writes_only_over_that_revision,
                d6_a_batch_with_one_conflict_writes_nothing,
                d2_d3_concurrent_increments_lose_nothing,
                d2_changes_over_what_is_stored_lose_nothing,
                a_change_sees_what_is_there_and_says_what_it_stored,
                f36_many_deletions_spare_what_changed_meanwhile,
                f30_parallel_creates_have_one_winner,
            }
            lookups Nothing {
                lookup_orders_by_key_then_id_in_any_status,
                lookup_compares_the_canonical_text,
                a23_lookup_finds_its_record_among_hundreds,
                c7_one_key_holds_several_instances,
                f70_lookup_never_sees_another_tenant,
                lookup_without_keys_finds_nothing,
                lookup_of_a_repeated_key_answers_once,
                lookup_forgets_the_key_of_a_replaced_record,
            }
            searches Search {
                c6_b7_f43_f45_every_script_is_found_by_a_part,
                f44_ascii_beside_cjk_is_found,
                f39_f40_f41_f42_query_syntax_is_data,
                sql_in_the_query_is_data,
                a_nul_character_is_data,
                b4_shared_stop_words_do_not_match,
                b5_text_without_a_term_finds_nothing,
                b6_ids_hashes_and_results_are_not_searchable,
                tool_names_and_argument_words_are_searchable,
                a_title_outranks_a_mention,
                b1_confidence_does_not_change_the_order,
                equal_relevance_is_ordered_by_id,
                b15_a_long_query_is_answered,
                search_returns_at_most_the_limit,
                putting_again_replaces_the_search_text,
                f69_a_deleted_record_is_not_searchable,
                f53_f70_search_never_sees_another_tenant,
            }
            filters Filter {
                b8_scopes_compare_exactly,
                b8_agents_compare_exactly,
                b10_the_limit_counts_after_the_expiry_filter,
                f35_a_record_expires_at_its_instant,
                b11_retired_records_are_not_found,
                b12_kinds_are_filtered_before_the_limit,
                probation_is_seen_only_in_its_scope,
                least_confidence_is_inclusive,
            }
            scans Nothing {
                scan_pages_in_the_order_of_ids,
                scan_applies_the_filter,
                scan_of_an_empty_tenant_is_empty,
                f69_a_deleted_record_is_not_scanned,
            }
            maintenance Nothing {
                c8_every_record_ages_as_the_state_machine_says_and_only_once,
                f70_maintenance_never_touches_another_tenant,
            }
            loads Nothing {
                d6_a_load_that_fails_anywhere_stores_nothing,
                a_load_counts_what_is_new_equal_and_different,
                a_loaded_record_is_found_at_every_door,
                f70_a_load_never_meets_another_tenant,
                of_equal_ids_in_one_load_the_later_meets_the_earlier,
            }
            loads_of_runs Runs {
                d6_a_load_of_records_and_runs_is_all_or_nothing,
                a_loaded_run_is_kept_or_replaced,
            }
            runs Runs {
                d21_a_run_reads_back_with_all_fields,
                f23_a_run_is_stored_once,
                f23_a_second_commit_of_a_run_writes_nothing,
                d6_a_batch_that_conflicts_stores_no_run,
                update_replaces_a_stored_run_only,
                runs_are_listed_newest_first_in_pages,
                runs_are_filtered_by_task_and_agent,
                runs_are_filtered_by_the_time_they_finished,
                many_runs_are_deleted_at_once,
                an_unknown_cursor_is_refused,
                a_deleted_run_is_gone,
                f70_runs_never_meet_another_tenant,
            }
            journals Runs {
                a_journal_reads_back_with_all_fields,
                a_step_is_replaced_by_its_number_and_steps_keep_their_order,
                only_who_holds_a_run_writes_its_journal,
                a_run_is_taken_when_its_lease_has_run_out_or_by_force,
                f30_of_many_that_take_a_run_at_once_one_gets_it,
                a_stored_run_closes_its_journal_and_is_never_begun_again,
                a_journal_that_was_deleted_is_missing,
                journals_are_listed_by_id_in_pages,
                f70_journals_never_meet_another_tenant,
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __behaviour_expand {
    (names ; $($module:ident $need:ident { $($case:ident,)* })*) => {
        &[$($($crate::testing::Case {
            module: stringify!($module),
            name: stringify!($case),
            need: $crate::testing::Need::$need,
        },)*)*]
    };
    (suite [$backend:expr] [$capabilities:expr] ; $($module:ident $need:ident { $($case:ident,)* })*) => {
        $($(
            #[test]
            fn $case() {
                $crate::testing::check(
                    $backend,
                    $capabilities,
                    $crate::testing::Need::$need,
                    $crate::testing::cases::$module::$case,
                );
            }
        )*)*
    };
}

#[cfg(test)]
mod tests {
    use super::CASES;

    /// The public functions of the case files, read from their source.
    fn written() -> Vec<String> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/testing/cases");
        let mut found = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let module = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let source = std::fs::read_to_string(&path).unwrap();
            let names = source.lines().filter_map(|line| line.strip_prefix("pub async fn ")?.split_once('('));
            found.extend(names.map(|(name, _)| format!("{module}::{name}")));
        }
        found.sort();
        found
    }

    #[test]
    fn the_suite_runs_every_case_that_is_written() {
        let mut listed: Vec<String> = CASES.iter().map(|case| format!("{}::{}", case.module, case.name)).collect();
        listed.sort();
        assert_eq!(listed, written());
    }
}
