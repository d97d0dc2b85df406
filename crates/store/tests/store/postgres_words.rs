//! Texts of a PostgreSQL that others can read: errors in logs, and notifications.
//! Neither contains stored data.

#![cfg(feature = "postgres")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::error::Error as _;

use halite_store::{BackendOptions, Cache, JobTables, PostgresOptions};
use halite_store_servers::Address;
use halite_test_services::Postgres;

fn cache(postgres: &Postgres, database: &str) -> Cache {
    let address = Address::parse(&postgres.url(database)).unwrap();
    let tables = JobTables::Jsonb;
    let options = PostgresOptions { address, tables };
    BackendOptions::Postgres(Box::new(options)).cache().unwrap()
}

#[test]
fn an_error_names_no_row() {
    let Some(postgres) = Postgres::shared() else {
        return;
    };
    let name = postgres.database().unwrap();
    let cache = cache(postgres, &name);
    cache.store("bank", "key", b"value".to_vec()).unwrap();
    let statement = "alter table halite_cache add constraint no check (bank <> 'tokens')";
    postgres.sql(&name, statement).unwrap();
    let token = "0123456789abcdef";
    let error = cache
        .store("tokens", token, b"secret".to_vec())
        .unwrap_err();
    let mut text = format!("{error} {error:?}");
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text} {error} {error:?}");
        cause = error.source();
    }
    // The server has said all of it: "Failing row contains (tokens, 0123...".
    assert!(text.contains("violates check constraint"), "{text}");
    assert!(!text.contains(token) && !text.contains("secret"), "{text}");
}

/// Anybody who may connect to the database may listen.
#[test]
fn an_announcement_names_no_token() {
    let Some(postgres) = Postgres::shared() else {
        return;
    };
    let name = postgres.database().unwrap();
    cache(postgres, &name)
        .store("grains", "web1", b"value".to_vec())
        .unwrap();
    let heard = postgres
        .sql(
            &name,
            "listen halite;\n\
             update halite_cache set data = 'new' where key = 'web1';\n\
             insert into halite_cache values ('tokens', '0123456789abcdef', '', 1);\n\
             delete from halite_cache where bank = 'tokens';\n",
        )
        .unwrap();
    assert!(heard.contains(r#"["grains", "web1"]"#), "{heard}");
    assert!(heard.contains(r#"["tokens", null]"#), "{heard}");
    assert!(!heard.contains("0123456789abcdef"), "{heard}");
}
