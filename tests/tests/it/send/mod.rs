//! POST /v1/send: who receives, what is refused, and what the recipients get to read.

mod content;
mod headers;
mod recipients;
mod refusals;
mod subscription;
mod validation;
