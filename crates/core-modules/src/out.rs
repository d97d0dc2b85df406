//! `out.*`: data in the form of an outputter.

use halite_output::{RenderOptions, render};

use halite_call::{Call, CallResult, Function, Module};

pub(super) const MODULE: Module = Module {
    name: "out",
    functions: &[
        Function::new(
            "out.html_format",
            "(data, out='nested', opts=None, **kwargs)",
            |call| {
                let text = shown(call).replace(' ', "&nbsp;").replace('\n', "<br />");
                Ok(text.into())
            },
            "Data as an outputter shows it, with blanks and ends of lines as HTML.",
        ),
        Function::new(
            "out.out_format",
            "(data, out='nested', opts=None, **kwargs)",
            plain,
            "Data as an outputter shows it.",
        ),
        Function::new(
            "out.string_format",
            "(data, out='nested', opts=None, **kwargs)",
            plain,
            "Data as an outputter shows it, without colours.",
        ),
    ],
};

fn shown(call: &Call<'_>) -> String {
    let name = call.text_opt("out");
    let text = render(name.as_deref(), call.arg("data"), &RenderOptions::default());
    text.strip_suffix('\n').unwrap_or(&text).to_owned()
}

fn plain(call: &Call<'_>) -> CallResult {
    Ok(shown(call).into())
}
