//! Texts through their pipes.

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

use halite_jinja::Globals;
use halite_proto::{Map, Value};
use halite_yaml::{Node, SourceLocation, Span};

use crate::context::sls_names;
use crate::data;
use crate::error::{ErrorKind, RenderError};
use crate::gpg::Gpg;
use crate::jinja::{self, Job, Origin, Templates};
use crate::pipe::{Pipe, Stage};
use crate::plugin;
use crate::py;
use crate::render_context::RenderContext;
use crate::request::{SlsRequest, TextRequest};
use crate::texts::{name_of, offset_of, text_of, with_newlines_of};

/// Renders texts for one context. Keeps what templates share, so that a whole
/// state tree is best rendered by one renderer; what a template does to the
/// maps `grains`, `pillar` and `opts` the next one sees, as in Salt.
pub struct Renderer<'w> {
    ctx: &'w dyn RenderContext,
    templates: Templates,
    base: RefCell<Option<Base>>,
}

/// The names of the context, made once.
struct Base {
    grains: Arc<Map>,
    pillar: Arc<Map>,
    globals: Globals,
}

/// A rendered SLS.
#[derive(Clone)]
pub struct Rendered {
    /// The data; text if the pipe makes none.
    pub value: Value,
    /// The text that the data was made of, if it was YAML last.
    pub text: Option<String>,
    /// Whether aliases of YAML make parts of the data one object.
    pub has_aliases: bool,
    /// Where the text came from.
    origin: Option<Arc<Origin>>,
}

impl Rendered {
    fn from_value(value: Value) -> Self {
        Self {
            value,
            text: None,
            has_aliases: false,
            origin: None,
        }
    }

    /// The data with the places of its parts in `text`. Few ask for them, so
    /// that the text is read once more.
    pub fn node(&self) -> Option<Node> {
        halite_yaml::load(self.text.as_ref()?, "").ok()
    }

    /// The place in the template that gave what stands at `span`, a place of
    /// [`Self::node`]: of the tag, if a tag wrote it.
    pub fn template_place(&self, span: Span) -> Option<SourceLocation> {
        let text = self.text.as_ref()?;
        self.origin.as_ref()?.place(offset_of(text, span))
    }
}

/// What goes from stage to stage.
enum Matter<'t> {
    Text(Cow<'t, str>),
    Data(Value),
}

impl<'w> Renderer<'w> {
    /// A renderer for `ctx`.
    pub fn new(ctx: &'w dyn RenderContext) -> Self {
        Self {
            ctx,
            templates: Templates::default(),
            base: RefCell::new(None),
        }
    }

    /// The context.
    pub fn ctx(&self) -> &'w dyn RenderContext {
        self.ctx
    }

    /// The data of an SLS. Empty texts are empty maps; a pipe that makes no
    /// data gives text.
    ///
    /// # Errors
    /// Wherever Salt's renderers fail.
    pub fn sls(&self, request: &SlsRequest<'_>) -> Result<Value, RenderError> {
        self.sls_with_places(request).map(|rendered| rendered.value)
    }

    /// Like [`Self::sls`], with the places of the data.
    ///
    /// # Errors
    /// As [`Self::sls`].
    pub fn sls_with_places(&self, request: &SlsRequest<'_>) -> Result<Rendered, RenderError> {
        let name = name_of(request.path, request.sls);
        let text = text_of(request.bytes, &name)?;
        if text.trim().is_empty() {
            return Ok(Rendered::from_value(Map::new().into()));
        }
        let default = request.renderer.map_or_else(
            || {
                let option = self.ctx.opts().get("renderer").and_then(Value::as_str);
                option.unwrap_or("jinja|yaml").to_owned()
            },
            str::to_owned,
        );
        let of_file = request.path.is_some();
        let stage = |name: &str| plugin::stage(name, self.ctx);
        let pipe = Pipe::for_text(text, &default, of_file, self.ctx.opts(), &stage);
        let pipe = pipe.map_err(|error| match text.starts_with("#!") {
            true => error.at(Some(SourceLocation::new(&name, text, Span::START))),
            false => error,
        })?;
        let names = sls_context(request);
        let job = Job {
            text,
            name: &name,
            is_sls: !request.sls.is_empty(),
            saltenv: Some(request.saltenv),
            path: request.path,
            names: &names,
            is_plain: false,
        };
        self.run(&pipe, &job)
    }

    /// The text of a managed file's template. `engine` is the argument
    /// `template` of the state: `jinja`, `py`.
    ///
    /// # Errors
    /// Wherever the template fails; for other engines.
    pub fn text(&self, engine: &str, request: &TextRequest<'_>) -> Result<String, RenderError> {
        let name = name_of(request.path, request.sls.unwrap_or_default());
        let text = text_of(request.bytes, &name)?;
        let mut names = request.context.cloned().unwrap_or_default();
        names.get_or_insert_with("saltenv", || {
            request.saltenv.map_or(Value::Nil, Value::from)
        });
        if let Some(sls) = request.sls {
            names.get_or_insert_with("sls", || sls.into());
            let path = request.path.map(|path| path.to_string_lossy());
            for (name, value) in sls_names(path.as_deref(), sls) {
                names.get_or_insert_with(name, || value);
            }
        }
        let job = Job {
            text,
            name: &name,
            is_sls: request.sls.is_some_and(|sls| !sls.is_empty()),
            saltenv: request.saltenv,
            path: request.path,
            names: &names,
            is_plain: false,
        };
        match engine {
            "jinja" => self.jinja(&job).map(|(text, _)| text),
            "py" => py::text(&job, self.ctx),
            other => {
                let message = format!("Template engine \"{other}\" is not available");
                Err(RenderError::new(ErrorKind::Renderer, message))
            }
        }
    }

    /// A text as Jinja2 itself renders it, with nothing for what is undefined:
    /// for files that are no states or pillars. Its functions are `__salt__`.
    ///
    /// # Errors
    /// Wherever the template fails.
    pub fn plain(&self, request: &TextRequest<'_>) -> Result<String, RenderError> {
        let name = name_of(request.path, "");
        let none = Map::new();
        let job = Job {
            text: text_of(request.bytes, &name)?,
            name: &name,
            is_sls: false,
            saltenv: None,
            path: request.path,
            names: request.context.unwrap_or(&none),
            is_plain: true,
        };
        self.jinja(&job).map(|(text, _)| text)
    }

    /// Decrypts the texts of `value` that hold an encrypted message, for
    /// `decrypt_pillar`. `renderer` is `gpg`; `translate_newlines` makes
    /// newlines of `\\n` written as two characters.
    ///
    /// # Errors
    /// When a message cannot be decrypted; for other renderers.
    pub fn decrypt(
        &self,
        renderer: &str,
        value: Value,
        translate_newlines: bool,
    ) -> Result<Value, RenderError> {
        if renderer != "gpg" {
            let message = format!("Decryption renderer '{renderer}' is not available");
            return Err(RenderError::new(ErrorKind::Renderer, message));
        }
        Gpg::new(self.ctx, translate_newlines)?.data(value)
    }

    fn run(&self, pipe: &Pipe, job: &Job<'_>) -> Result<Rendered, RenderError> {
        let mut matter = Matter::Text(Cow::Borrowed(job.text));
        let mut rendered = Rendered::from_value(Value::Nil);
        for (stage, argline) in &pipe.stages {
            matter = self.stage(stage, argline, matter, job, &mut rendered)?;
        }
        rendered.value = match matter {
            Matter::Data(value) => value,
            Matter::Text(text) => Value::Str(with_newlines_of(job.text, text.into_owned())),
        };
        Ok(rendered)
    }

    /// Takes matter through one stage; `rendered` learns where it came from.
    fn stage<'t>(
        &self,
        stage: &Stage,
        argline: &str,
        matter: Matter<'t>,
        job: &Job<'_>,
        rendered: &mut Rendered,
    ) -> Result<Matter<'t>, RenderError> {
        Ok(match (stage, matter) {
            (Stage::Text, matter) => matter,
            (Stage::Jinja, Matter::Text(text)) => {
                let (text, from) = self.jinja_stage(argline, &text, job)?;
                rendered.origin = Some(Arc::new(from));
                Matter::Text(text.into())
            }
            (Stage::Yaml, Matter::Text(text)) => {
                let data = data::yaml(&text, job.name)
                    .map_err(|error| led_back(error, &text, rendered.origin.as_deref()))?;
                rendered.has_aliases = data.has_aliases;
                rendered.text = Some(text.into_owned());
                Matter::Data(data.value)
            }
            (Stage::Json, Matter::Text(text)) => Matter::Data(
                data::json(&text, job.name)
                    .map_err(|error| led_back(error, &text, rendered.origin.as_deref()))?,
            ),
            (Stage::Gpg, Matter::Data(value)) => {
                // Places of values that were decrypted stay true.
                Matter::Data(Gpg::new(self.ctx, false)?.data(value)?)
            }
            (Stage::Gpg, Matter::Text(text)) => {
                match Gpg::new(self.ctx, false)?.text(text.into_owned())? {
                    Value::Str(text) => Matter::Text(text.into()),
                    other => Matter::Data(other),
                }
            }
            (Stage::Module { name, of_salt }, matter) => {
                let data = match matter {
                    Matter::Text(text) => text.into_owned().into(),
                    Matter::Data(data) => data,
                };
                // From here on nobody knows where anything came from.
                *rendered = Rendered::from_value(Value::Nil);
                let call = plugin::Call {
                    name,
                    of_salt: *of_salt,
                    data: &data,
                    argline,
                };
                match call.run(job, self.ctx)? {
                    Value::Str(text) => Matter::Text(text.into()),
                    data => Matter::Data(data),
                }
            }
            // Python reads the file, whatever came before.
            (Stage::Py, _) => match py::run(job, self.ctx)? {
                Value::Str(text) => Matter::Text(text.into()),
                data => Matter::Data(data),
            },
            (Stage::PyObjects, Matter::Text(text)) => {
                *rendered = Rendered::from_value(Value::Nil);
                Matter::Data(py::objects(job, &text, self.ctx)?)
            }
            (Stage::Jinja | Stage::Yaml | Stage::Json | Stage::PyObjects, Matter::Data(value)) => {
                let message = format!("'{}' object has no attribute 'read'", value.type_name());
                return Err(RenderError::new(ErrorKind::Data, message).foreign("AttributeError"));
            }
        })
    }

    fn jinja_stage(
        &self,
        argline: &str,
        text: &str,
        job: &Job<'_>,
    ) -> Result<(String, Origin), RenderError> {
        if !argline.is_empty() && argline != "-s" {
            let message = format!("Unknown renderer option: {argline}");
            return Err(RenderError::new(ErrorKind::Renderer, message));
        }
        self.jinja(&Job { text, ..*job })
    }

    fn jinja(&self, job: &Job<'_>) -> Result<(String, Origin), RenderError> {
        jinja::render(job, self.ctx, &self.templates, &self.globals())
    }

    /// The names of the context; made again if grains or pillar were.
    fn globals(&self) -> Globals {
        let (grains, pillar) = (self.ctx.grains(), self.ctx.pillar());
        let mut base = self.base.borrow_mut();
        if let Some(base) = &*base
            && Arc::ptr_eq(&base.grains, &grains)
            && Arc::ptr_eq(&base.pillar, &pillar)
        {
            return base.globals.clone();
        }
        let globals = jinja::context_names(self.ctx, &grains, &pillar);
        *base = Some(Base {
            grains,
            pillar,
            globals: globals.clone(),
        });
        globals
    }
}

/// Renders one SLS: see [`Renderer::sls`].
///
/// # Errors
/// As [`Renderer::sls`].
pub fn render_sls(request: &SlsRequest<'_>, ctx: &dyn RenderContext) -> Result<Value, RenderError> {
    Renderer::new(ctx).sls(request)
}

/// Renders one template: see [`Renderer::text`].
///
/// # Errors
/// As [`Renderer::text`].
pub fn render_text(
    engine: &str,
    request: &TextRequest<'_>,
    ctx: &dyn RenderContext,
) -> Result<String, RenderError> {
    Renderer::new(ctx).text(engine, request)
}

/// The names of an SLS: what the request gives hides Salt's own.
fn sls_context(request: &SlsRequest<'_>) -> Map {
    let mut names = request.context.cloned().unwrap_or_default();
    names.get_or_insert_with("saltenv", || request.saltenv.into());
    names.get_or_insert_with("sls", || request.sls.into());
    let path = request.path.map(|path| path.to_string_lossy());
    let path = path.as_deref().unwrap_or(":string:");
    for (name, value) in sls_names(Some(path), request.sls) {
        names.get_or_insert_with(name, || value);
    }
    names
}

/// The error of a rendered text at the place of the template that gave it.
fn led_back(error: RenderError, text: &str, origin: Option<&Origin>) -> RenderError {
    let place = error.place().zip(origin).and_then(|(place, origin)| {
        let mut moved = origin.place(offset_of(text, place.span))?;
        let mut line = place.line.trim().to_owned();
        if place.is_end {
            // The template need not end as its text does.
            moved.line.clone_from(&place.line);
            moved.is_end = true;
            line.clear();
        }
        Some((moved, line))
    });
    match place {
        Some((place, line)) if line.is_empty() || line == place.line.trim() => error.moved(place),
        Some((place, line)) => error
            .moved(place)
            .through(vec![format!("rendered: {line}")]),
        None => error,
    }
}
