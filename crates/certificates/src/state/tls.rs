//! Whether a certificate is still good for a while: the state module `tls`.

use halite_call::{Call, CallError, CallResult, Function, Module, StateReturn, python};

use crate::time;
use crate::tls::load_certificate;

pub(crate) const MODULE: Module = Module {
    name: "tls",
    functions: &[Function::new(
        "tls.valid_certificate",
        "(name, weeks=0, days=0, hours=0, minutes=0, seconds=0)",
        valid,
        "A certificate is valid, and stays so for the time that is given.",
    )],
};

/// Seconds as Python writes a length of time: `364 days, 23:59:07`.
fn length(seconds: i64) -> String {
    let (days, rest) = (seconds.div_euclid(86400), seconds.rem_euclid(86400));
    let clock = format!("{}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60);
    match days {
        0 => clock,
        1 | -1 => format!("{days} day, {clock}"),
        _ => format!("{days} days, {clock}"),
    }
}

fn valid(call: &Call<'_>) -> CallResult {
    let state = StateReturn::of(call);
    let certificate = match load_certificate(&call.text("name")) {
        Ok(certificate) => certificate,
        Err(CallError::Exception { message, .. }) => return Ok(state.failed(message).into()),
        Err(error) => return Err(error),
    };
    let now = time::now();
    if now < certificate.not_before {
        return Ok(state.failed("Certificate is not yet valid").into());
    }
    if now > certificate.not_after {
        return Ok(state.failed("Certificate is expired").into());
    }
    let mut wanted = 0.0;
    for (unit, seconds) in [
        ("weeks", 604_800.0),
        ("days", 86400.0),
        ("hours", 3600.0),
        ("minutes", 60.0),
        ("seconds", 1.0),
    ] {
        wanted += python::float(call.arg(unit))? * seconds;
    }
    let left = certificate.not_after - now;
    // Whole seconds are what a certificate knows.
    #[allow(clippy::cast_possible_truncation)]
    let wanted = wanted as i64;
    if left < wanted {
        let (left, wanted) = (length(left), length(wanted));
        let comment = format!("Certificate will expire in {left}, which is less than {wanted}");
        return Ok(state.failed(comment).into());
    }
    let comment = format!("Certificate is valid for {}", length(left));
    Ok(state.ok(comment).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_written_as_python_does() {
        assert_eq!(length(59), "0:00:59");
        assert_eq!(length(86400 + 3661), "1 day, 1:01:01");
        assert_eq!(length(2800 * 86400), "2800 days, 0:00:00");
    }
}
