#![doc = include_str!("../README.md")]
//!
//! A text becomes a [program](ast::Program), in which names are resolved; [`parsed::Parsed`] knows what it declares; and
//! [`lower::lower`] makes [code](lower::Code) of one of its kernels. Nothing here runs anything. It is a crate of its own because the
//! compiler need not make it fast.

#![allow(missing_docs)] // What only simt uses has docs where its name does not say enough.

pub mod ast;
mod dim3;
pub mod error;
pub mod instructions;
mod lexer;
pub mod lower;
mod named;
pub mod parsed;
pub mod parser;
pub mod place;

pub use dim3::Dim3;
pub use error::Error;
