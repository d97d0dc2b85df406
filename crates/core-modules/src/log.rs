//! `log.*`: lines for the minion's own log.

use halite_call::{Call, CallResult, Function, Module};

pub(super) const MODULE: Module = Module {
    name: "log",
    functions: &[
        Function::new(
            "log.critical",
            "(message)",
            critical,
            "Logs a message at the level critical.",
        ),
        Function::new(
            "log.debug",
            "(message)",
            debug,
            "Logs a message at the level debug.",
        ),
        Function::new(
            "log.error",
            "(message)",
            error,
            "Logs a message at the level error.",
        ),
        Function::new(
            "log.exception",
            "(message)",
            error,
            "Logs a message at the level error.",
        ),
        Function::new(
            "log.info",
            "(message)",
            info,
            "Logs a message at the level info.",
        ),
        Function::new(
            "log.warning",
            "(message)",
            warning,
            "Logs a message at the level warning.",
        ),
    ],
};

fn critical(call: &Call<'_>) -> CallResult {
    tracing::error!(target: halite_process::logging::CRITICAL, "{}", call.text("message"));
    Ok(true.into())
}

fn error(call: &Call<'_>) -> CallResult {
    tracing::error!("{}", call.text("message"));
    Ok(true.into())
}

fn warning(call: &Call<'_>) -> CallResult {
    tracing::warn!("{}", call.text("message"));
    Ok(true.into())
}

fn info(call: &Call<'_>) -> CallResult {
    tracing::info!("{}", call.text("message"));
    Ok(true.into())
}

fn debug(call: &Call<'_>) -> CallResult {
    tracing::debug!("{}", call.text("message"));
    Ok(true.into())
}
