//! Matrices on the host, as a host driver has them.

use std::rc::Rc;

use anyhow::{Context as _, Result, bail, ensure};

use crate::basics::matrix::vec_of;
use crate::basics::{Operands, Side};
use plan::Problem;

/// A matrix on the host, row-major.
pub struct Matrix(Kind);

enum Kind {
    /// A or B, which belong together.
    Operand(Rc<Operands>, Side),
    /// Elements as they were computed, as their bits.
    Computed(Vec<u32>),
}

/// Draws A and B of a problem. Fails if the host has no memory for them.
pub fn random_matrices(problem: &Problem) -> Result<(Matrix, Matrix)> {
    let operands = Rc::new(Operands::new(problem)?);
    Ok((Matrix(Kind::Operand(operands.clone(), Side::A)), Matrix(Kind::Operand(operands, Side::B))))
}

impl Matrix {
    /// A matrix of this many elements, which hold a pattern that no product leaves by accident.
    pub(super) fn poisoned(problem: &Problem, elements: u64) -> Result<Self> {
        let mut words = vec_of::<u32>(elements as usize)?;
        words.fill(problem.dtype.poison());
        Ok(Self(Kind::Computed(words)))
    }

    /// Which of the two operands it is; `None` for a matrix that was computed.
    pub(super) fn side(&self) -> Option<Side> {
        if let Kind::Operand(_, side) = &self.0 { Some(*side) } else { None }
    }

    /// The operands to which it belongs; `None` for a matrix that was computed.
    pub(super) fn operands(&self) -> Option<Rc<Operands>> {
        if let Kind::Operand(operands, _) = &self.0 { Some(operands.clone()) } else { None }
    }

    /// The bytes of its elements.
    pub(super) fn bytes(&self) -> &[u8] {
        match &self.0 {
            Kind::Operand(operands, side) => operands.bytes()[usize::from(*side == Side::B)],
            Kind::Computed(words) => bytemuck::cast_slice(words),
        }
    }

    /// The elements of a matrix that is being computed; none of A and B, which are given.
    pub(super) fn words_mut(&mut self) -> &mut [u32] {
        if let Kind::Computed(words) = &mut self.0 { words } else { &mut [] }
    }

    fn words(&self) -> Option<&[u32]> {
        if let Kind::Computed(words) = &self.0 { Some(words) } else { None }
    }
}

/// The operands of a product that a driver hands over as A and B.
pub(super) fn operands<'a>(a: &'a Matrix, b: &Matrix) -> Result<&'a Operands> {
    match (&a.0, b.side()) {
        (Kind::Operand(operands, Side::A), Some(Side::B)) => Ok(operands),
        _ => bail!("A comes first and B second; exchange the matrices"),
    }
}

/// The elements that a driver hands over as C.
pub(super) fn elements<'a>(problem: &Problem, c: &'a Matrix) -> Result<&'a [u32]> {
    let words = c.words().context("C comes last, after A and B; exchange the matrices")?;
    let (has, takes) = (words.len() as u64, problem.c_elements());
    ensure!(has == takes, "C on the host has {has} elements and needs {takes}; give it M·N elements");
    Ok(words)
}
