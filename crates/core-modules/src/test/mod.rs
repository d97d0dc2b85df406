//! `test.*`: whether the minion is there, and how it parses arguments.

mod failures;
mod numbers;

use std::time::Duration;

use halite_crypto::random_bytes;
use halite_proto::{Map, Value};

use super::versions;
use halite_call::{Call, CallError, CallResult, Function, Module, python};

pub(super) const MODULE: Module = Module {
    name: "test",
    functions: &[
        Function::new(
            "test.arg",
            "(*args, **kwargs)",
            arg,
            "Returns the positional and the keyword arguments as the function got them,\nthe fields of the publication included.",
        ),
        Function::new(
            "test.arg_clean",
            "(*args, **kwargs)",
            arg_clean,
            "Like test.arg, without the fields of the publication.",
        ),
        Function::new(
            "test.arg_repr",
            "(*args, **kwargs)",
            arg_repr,
            "Returns the arguments as Python would write them down.",
        ),
        Function::new(
            "test.arg_type",
            "(*args, **kwargs)",
            arg_type,
            "Returns the Python types of the arguments.",
        ),
        Function::new(
            "test.assertion",
            "(assertion)",
            failures::assertion,
            "Fails with an AssertionError unless the argument is true.",
        ),
        Function::new(
            "test.attr_call",
            "()",
            attr_call,
            "Returns the grains, called through another module.",
        ),
        Function::new(
            "test.collatz",
            "(start)",
            numbers::collatz,
            "Runs the Collatz sequence from a number down to one; returns the steps and\nthe seconds it took.",
        ),
        Function::new(
            "test.conf_test",
            "()",
            conf_test,
            "Returns the option test.foo, or `unconfigured`.",
        ),
        Function::new(
            "test.cross_test",
            "(func, args=None)",
            cross_test,
            "Calls another function with a list of arguments.",
        ),
        Function::new(
            "test.deprecation_warning",
            "()",
            yes,
            "Returns True; nothing is deprecated here.",
        ),
        Function::new("test.echo", "(text)", echo, "Returns what it is given."),
        Function::new(
            "test.exception",
            "(message='Test Exception')",
            failures::exception,
            "Fails with an exception that has this text.",
        ),
        Function::new("test.false", "()", no, "Returns False."),
        Function::new(
            "test.fib",
            "(num)",
            numbers::fib,
            "Returns the Fibonacci number at this place and the seconds it took.",
        ),
        Function::new(
            "test.get_opts",
            "()",
            get_opts,
            "Returns the options of the minion.",
        ),
        Function::new(
            "test.kwarg",
            "(**kwargs)",
            kwarg,
            "Returns the keyword arguments as the function got them.",
        ),
        Function::new(
            "test.module_report",
            "()",
            module_report,
            "Returns the names of everything that can be called.",
        ),
        Function::new(
            "test.not_loaded",
            "()",
            not_loaded,
            "Returns the modules that could not be loaded: none, they are built in.",
        ),
        Function::new(
            "test.opts_pkg",
            "()",
            opts_pkg,
            "All options of the minion, its grains among them.",
        ),
        Function::new(
            "test.outputter",
            "(data)",
            outputter,
            "Returns what it is given, for trying out outputters.",
        ),
        Function::new(
            "test.ping",
            "()",
            yes,
            "Answers True: the minion is up and takes commands. Not an ICMP ping.",
        ),
        Function::new(
            "test.provider",
            "(module)",
            provider,
            "Returns the provider of a module, empty if there is none.",
        ),
        Function::new(
            "test.providers",
            "()",
            providers,
            "Returns the modules by provider.",
        ),
        Function::new(
            "test.raise_exception",
            "(name, *args, **kwargs)",
            failures::raise_exception,
            "Fails with the built-in exception of this name, made of the arguments.\nReturns False when there is none of this name.",
        ),
        Function::new(
            "test.rand_sleep",
            "(max=60)",
            rand_sleep,
            "Sleeps for a random time of at most this many seconds.",
        ),
        Function::new(
            "test.rand_str",
            "(size=9999999999, hash_type=None)",
            numbers::rand_str,
            "Returns a random hash.",
        ),
        Function::new(
            "test.random_hash",
            "(size=9999999999, hash_type=None)",
            numbers::rand_str,
            "Returns a random hash.",
        ),
        Function::new(
            "test.retcode",
            "(code=42)",
            retcode,
            "Sets this return code and returns True.",
        ),
        Function::new(
            "test.sleep",
            "(length)",
            sleep,
            "Sleeps for this many seconds, or until the job is killed.",
        ),
        Function::new(
            "test.stack",
            "()",
            stack,
            "Returns the calls that lead here.",
        ),
        Function::new("test.true", "()", yes, "Returns True."),
        Function::new(
            "test.try",
            "(module, return_try_exception=False, **kwargs)",
            try_,
            "Calls a function and returns None when it fails, or with\nreturn_try_exception the text of the failure.",
        ),
        Function::new(
            "test.tty",
            "(*args, **kwargs)",
            tty,
            "Points to cmd.tty, where it has moved.",
        ),
        Function::new(
            "test.version",
            "()",
            version,
            "Returns the version of Salt whose behaviour this minion has.",
        ),
        Function::new(
            "test.versions",
            "()",
            versions_report,
            "Returns the versions of everything, as text.",
        ),
        Function::new(
            "test.versions_information",
            "()",
            versions_information,
            "Returns the versions of everything.",
        ),
        Function::new(
            "test.versions_report",
            "()",
            versions_report,
            "Returns the versions of everything, as text.",
        ),
    ],
};

fn yes(_: &Call<'_>) -> CallResult {
    Ok(Value::Bool(true))
}

fn no(_: &Call<'_>) -> CallResult {
    Ok(Value::Bool(false))
}

fn arguments(args: Value, kwargs: Value) -> CallResult {
    Ok(Map::from([("args", args), ("kwargs", kwargs)]).into())
}

fn arg(call: &Call<'_>) -> CallResult {
    arguments(call.varargs().to_vec().into(), call.kwargs().clone().into())
}

fn arg_clean(call: &Call<'_>) -> CallResult {
    arguments(call.varargs().to_vec().into(), call.clean_kwargs().into())
}

fn arg_repr(call: &Call<'_>) -> CallResult {
    let args = tuple_repr(call.varargs());
    let kwargs = python::repr(&call.kwargs().clone().into());
    arguments(args.into(), kwargs.into())
}

fn arg_type(call: &Call<'_>) -> CallResult {
    let class = |value: &Value| Value::Str(format!("<class '{}'>", value.type_name()));
    let args: Vec<Value> = call.varargs().iter().map(class).collect();
    let kwargs: Map = call
        .kwargs()
        .iter()
        .map(|(key, value)| (key.clone(), class(value)))
        .collect();
    arguments(args.into(), kwargs.into())
}

fn tuple_repr(items: &[Value]) -> String {
    let inner: Vec<String> = items.iter().map(python::repr).collect();
    match inner.as_slice() {
        [one] => format!("({one},)"),
        _ => format!("({})", inner.join(", ")),
    }
}

fn attr_call(call: &Call<'_>) -> CallResult {
    call.salt("grains.items", &[], Map::new())
}

fn conf_test(call: &Call<'_>) -> CallResult {
    Ok(call
        .opt_text("test.foo")
        .unwrap_or_else(|| "unconfigured".to_owned())
        .into())
}

fn cross_test(call: &Call<'_>) -> CallResult {
    let fun = call.text("func");
    let args = match call.arg("args") {
        Value::Nil => Vec::new(),
        Value::List(args) => args.clone(),
        one => vec![one.clone()],
    };
    call.salt(&fun, &args, Map::new())
}

fn echo(call: &Call<'_>) -> CallResult {
    Ok(call.arg("text").clone())
}

fn get_opts(call: &Call<'_>) -> CallResult {
    Ok(call.ctx.opts().clone().into())
}

fn opts_pkg(call: &Call<'_>) -> CallResult {
    let mut all = call.ctx.opts().clone();
    all.insert("grains", Map::clone(&call.ctx.grains()));
    Ok(all.into())
}

fn kwarg(call: &Call<'_>) -> CallResult {
    Ok(call.kwargs().clone().into())
}

fn module_report(call: &Call<'_>) -> CallResult {
    let functions: Vec<Value> = call
        .ctx
        .registry()
        .functions()
        .map(|function| function.name.into())
        .collect();
    let none = || Value::List(Vec::new());
    Ok(Map::from([
        ("functions", functions.into()),
        ("function_attrs", none()),
        ("function_subs", none()),
        ("modules", none()),
        ("module_attrs", none()),
        ("missing_attrs", none()),
        ("missing_subs", none()),
    ])
    .into())
}

fn not_loaded(_: &Call<'_>) -> CallResult {
    Ok(Value::List(Vec::new()))
}

fn outputter(call: &Call<'_>) -> CallResult {
    Ok(call.arg("data").clone())
}

/// The file a module is kept in by Salt, where that differs from its name.
fn provider_of(module: &str) -> &str {
    match module {
        "cmd" => "cmdmod",
        "sys" => "sysmod",
        "log" => "logmod",
        other => other,
    }
}

fn provider(call: &Call<'_>) -> CallResult {
    let name = call.text("module");
    Ok(call
        .ctx
        .registry()
        .module(&name)
        .map_or("", |module| provider_of(module.name))
        .into())
}

fn providers(call: &Call<'_>) -> CallResult {
    let providers: Map = call
        .ctx
        .registry()
        .modules()
        .map(|module| (provider_of(module.name), module.name))
        .collect();
    Ok(providers.into())
}

fn rand_sleep(call: &Call<'_>) -> CallResult {
    let most = u64::try_from(call.int("max")?).unwrap_or_default();
    let seconds = u64::from_le_bytes(random_bytes()) % most.saturating_add(1);
    pause(call, seconds)
}

fn retcode(call: &Call<'_>) -> CallResult {
    call.set_retcode(call.int("code")?);
    Ok(Value::Bool(true))
}

fn sleep(call: &Call<'_>) -> CallResult {
    pause(call, u64::try_from(call.int("length")?).unwrap_or_default())
}

fn pause(call: &Call<'_>, seconds: u64) -> CallResult {
    if call.cancel().sleep(Duration::from_secs(seconds)) {
        Ok(Value::Bool(true))
    } else {
        Err(CallError::Ended(
            call.cancel().ended_by().unwrap_or_default(),
        ))
    }
}

fn stack(_: &Call<'_>) -> CallResult {
    Ok(std::backtrace::Backtrace::force_capture()
        .to_string()
        .into())
}

fn try_(call: &Call<'_>) -> CallResult {
    match call.salt(&call.text("module"), &[], call.clean_kwargs()) {
        Ok(ret) => Ok(ret),
        Err(error) if call.flag("return_try_exception") => Ok(error.to_string().into()),
        Err(error) => {
            tracing::debug!(%error, "test.try: the function failed");
            Ok(Value::Nil)
        }
    }
}

fn tty(_: &Call<'_>) -> CallResult {
    Ok("ERROR: This function has been moved to cmd.tty".into())
}

fn version(_: &Call<'_>) -> CallResult {
    Ok(halite_grains::SALT_VERSION.into())
}

fn versions_information(call: &Call<'_>) -> CallResult {
    Ok(versions::information(call).into())
}

fn versions_report(call: &Call<'_>) -> CallResult {
    Ok(versions::report(call).into())
}
