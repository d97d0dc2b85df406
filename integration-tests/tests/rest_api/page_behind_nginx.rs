//! The page of the fleet in a real browser, through nginx with TLS.

use anyhow::{Context, Result, ensure};
use halite_test_services::Nginx;

use crate::clients::lines_for_nginx;
use crate::page_jobs::command;
use crate::stage::{Stage, log_in};

#[test]
fn the_page_works_through_nginx_with_tls() -> Result<()> {
    let stage = Stage::start()?;
    let Some(nginx) = Nginx::for_test(stage.address(), &lines_for_nginx()?) else {
        return Ok(());
    };
    let Some(browser) = stage.browser("alice")? else {
        return Ok(());
    };
    let url = format!("https://{}/fleet", nginx.address);
    log_in(&browser, &url, "alice", "secret1")?;
    browser.wait_text("web2")?;
    // The stream of events is not buffered, and a command is not of another origin.
    browser.wait_text("live")?;
    command(&browser, "web1", "test.ping", "")?;
    browser.wait_text("1 of 1 returned")?;
    let cookies = browser.cookies()?;
    let session = cookies.iter().find(|cookie| cookie["name"] == "session_id");
    let session = session.context("no cookie of the session")?;
    ensure!(
        session["secure"] == true && session["httpOnly"] == true,
        "{session}"
    );
    Ok(())
}
