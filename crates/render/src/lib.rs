//! Texts to data: the pipes of renderers that states and pillars go through, and
//! the templates of managed files.
//!
//! A [`Renderer`] renders one text after the other for one [`RenderContext`] (a
//! minion's call, a master's pillar) and keeps what they share: the templates it
//! has read and the names that every template sees. It requests from its context
//! what a text needs beyond itself.
//!
//! Invariant: whatever the text, a render ends within its limits with data or with
//! a [`RenderError`], which has Salt's text and knows the place.
//!
//! ```
//! use halite_render::{Renderer, SlsRequest, FixedContext};
//!
//! let ctx = FixedContext::default();
//! let renderer = Renderer::new(&ctx);
//! let sls = SlsRequest::new(b"{% for n in ['a', 'b'] %}\n{{ n }}: test.nop\n{% endfor %}\n");
//! let data = renderer.sls(&sls)?;
//! assert_eq!(data.get("b").and_then(|fun| fun.as_str()), Some("test.nop"));
//! # Ok::<(), halite_render::RenderError>(())
//! ```

pub mod chance;
mod context;
mod data;
mod error;
mod filters;
mod gpg;
mod jinja;
mod jmespath;
pub mod limits;
mod pipe;
mod plugin;
mod py;
mod render_context;
mod renderer;
mod request;
mod texts;

pub use context::sls_names;
pub use error::{ErrorKind, RenderError};
pub use halite_jinja::Returned;
pub use halite_yaml::{Node, NodeKind, SourceLocation, Span};
pub use pipe::{Pipe, Stage};
pub use render_context::{ContextFile, FixedContext, RenderContext, RenderContextError};
pub use renderer::{Rendered, Renderer, render_sls, render_text};
pub use request::{SlsRequest, TextRequest};
