//! Our own tables, made by the first connection.
//!
//! Salt's tables are made where jobs are kept; these hold what Salt has no table
//! for. Their names begin with `halite_`, so that they can be beside Salt's.

use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use crate::error::Failure;

/// The version of the tables below. A newer one in the database is refused.
const VERSION: i32 = 1;

/// Taken while tables are made: several masters may begin at once.
const LOCK: &str = "select pg_advisory_xact_lock(7240917001001)";

const TABLES: &str = "
create table if not exists halite_version (version integer not null);
insert into halite_version select 1 where not exists (select from halite_version);

create table if not exists halite_cache (
    bank text not null,
    key text not null,
    data bytea not null,
    version bigint not null,
    changed timestamptz not null default now(),
    primary key (bank, key)
);
create sequence if not exists halite_versions;

create or replace function halite_changed() returns trigger language plpgsql as $$
declare
    it halite_cache;
begin
    if tg_op = 'DELETE' then
        it := old;
    else
        it := new;
    end if;
    -- Whoever may connect may listen, and the name of a token is the token.
    if it.bank = 'tokens' then
        it.key := null;
    end if;
    perform pg_notify('halite', json_build_array(it.bank, it.key)::text);
    return null;
end $$;
drop trigger if exists halite_changed on halite_cache;
create trigger halite_changed after insert or update or delete on halite_cache
    for each row execute function halite_changed();

create table if not exists halite_jobs (
    jid text primary key,
    prepared timestamptz not null default now(),
    nocache boolean not null default false,
    owner text,
    load bytea,
    from_returns boolean not null default false,
    minions text[] not null default '{}',
    endtime text,
    batch bytea,
    batch_is_active boolean not null default false
);
create index if not exists halite_jobs_prepared on halite_jobs (prepared);
create index if not exists halite_jobs_active on halite_jobs (jid) where batch_is_active;

create table if not exists halite_returns (
    jid text not null,
    id text not null,
    packed bytea not null,
    out text,
    primary key (jid, id)
);

create table if not exists halite_publishers (
    jid text primary key,
    id text not null,
    since timestamptz not null default now()
);
";

/// Makes the tables that are missing.
pub(super) async fn make(client: &Client) -> Result<(), Failure> {
    let found = match client
        .query("select version from halite_version", &[])
        .await
    {
        Ok(rows) => rows.first().map(|row| row.try_get(0)).transpose()?,
        Err(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => None,
        Err(error) => return Err(error.into()),
    };
    match found {
        Some(VERSION) => Ok(()),
        None => {
            let statements = format!("begin; {LOCK}; {TABLES}; commit");
            match client.batch_execute(&statements).await {
                Ok(()) => Ok(()),
                Err(error) => {
                    client.batch_execute("rollback").await?;
                    Err(error.into())
                }
            }
        }
        Some(other) => Err(Failure::Refused(format!(
            "its tables have version {other}, this program knows version {VERSION}: update it, \
             or give it another database"
        ))),
    }
}
