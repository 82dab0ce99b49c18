//! The message a receiver gets, judged by programs that are not ours.

mod bulk;
mod content;
mod headers;
mod post;
