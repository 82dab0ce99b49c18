//! The template language.
