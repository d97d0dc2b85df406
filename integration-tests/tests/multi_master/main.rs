//! Several masters at once, and masters and minions that come and go: what
//! the project is for. Each test is named after what users of Salt met.

mod chaos;
mod failing_over;
mod ledger;
mod links;
mod lost_commands;
mod lost_results;
mod once;
mod proxy;
mod support;
mod tools;
