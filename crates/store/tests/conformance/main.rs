//! What every backend of a store must do.
//!
//! Another backend is one more line in [`backends`], and a function that opens an
//! empty one in `subject.rs`.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod banks;
mod faults;
mod jobs;
mod minion_data;
mod subject;
mod tokens;

/// Makes every check a test of one backend.
macro_rules! suite {
    ($backend:ident) => {
        mod $backend {
            suite!($backend, jobs: an_id_is_given_once, a_job_begins_with_what_is_published,
                a_minions_own_job_keeps_its_id,
                a_job_is_found_as_it_was_saved, an_unknown_job_has_nothing,
                the_first_return_counts, the_commits_of_a_return_are_kept, a_return_with_a_zero_byte_is_kept,
                returns_of_many_at_once_are_all_kept,
                a_job_from_elsewhere_becomes_known, returns_without_cache_are_dropped,
                the_newest_jobs_come_first, jobs_are_found_by_a_filter, old_jobs_are_removed, batches_begin_and_end,
                publishers_are_known_until_their_jobs_go);
            suite!(others_of $backend);
        }
    };
    (without_jobs $backend:ident) => {
        mod $backend {
            suite!(others_of $backend);
        }
    };
    (others_of $backend:ident) => {
            suite!($backend, minion_data: data_is_replaced_and_forgotten, a_mine_is_merged,
                parts_are_what_all_of_it_says, pillars_of_environments_are_bounded,
                unknown_minions_go_but_for_their_mine, too_much_is_refused);
            suite!($backend, banks: values_are_kept_listed_and_flushed,
                a_bank_goes_with_those_below_it);
            suite!($backend, tokens: a_token_holds_until_it_expires,
                old_tokens_are_cleaned_away);
    };
    ($backend:ident, $role:ident: $($check:ident),*) => {
        mod $role {
            $(
                #[test]
                fn $check() {
                    // One on a server that is not installed has said so.
                    let subject: Option<crate::subject::Subject> =
                        crate::subject::$backend().into();
                    if let Some(subject) = subject {
                        crate::$role::$check(&subject);
                    }
                }
            )*
        }
    };
}

mod backends {
    suite!(local_fs);
    #[cfg(feature = "etcd")]
    suite!(without_jobs etcd);
    #[cfg(feature = "etcd")]
    suite!(without_jobs etcd_v2);
    #[cfg(feature = "mysql")]
    suite!(mysql);
    #[cfg(feature = "postgres")]
    suite!(postgres);
    #[cfg(feature = "postgres")]
    suite!(postgres_text);
    #[cfg(feature = "redis")]
    suite!(redis);
    #[cfg(feature = "redis")]
    suite!(redis_cluster);
    suite!(memory_store);
    // With faults off: what it adds does no harm. With faults on: `faults.rs`.
    suite!(faulty);
}
