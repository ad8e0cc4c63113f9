//! Tests of the library's public interface. They are all in one program, because every test program must be built and linked
//! separately. `cargo test -p simt --test main corpus::` runs the tests of one file.

mod by_hand;
mod control;
mod corpus;
mod counters;
mod instructions;
mod launch;
mod products;
mod provenance;
mod robust;
mod sections;
mod steps;
mod verdicts;
