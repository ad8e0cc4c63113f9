//! The library as its users meet it. One program for all of these tests, because each program costs a build of its own:
//! `cargo test -p simt --test main corpus::` runs those of one file.

mod control;
mod corpus;
mod counters;
mod instructions;
mod products;
mod provenance;
mod robust;
mod sections;
mod steps;
mod verdicts;
