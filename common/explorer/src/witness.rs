//! A witness of a race: an order of warps in which the product is right, and one in which it is wrong.

use crate::request::Order;
use crate::run::Run;
use serde_json::{Value, json};
use simt::{Analysis, BlockInfo, Observer};

/// Watches nothing, but every instruction: so that warps take turns as if they were recorded.
struct Steps;

impl Analysis for Steps {
    fn steps(&self) -> bool {
        true
    }

    fn block(&self, _: &BlockInfo) -> Vec<Box<dyn Observer>> {
        vec![]
    }
}

/// An order in words.
fn words(order: Order) -> String {
    let blocks = if order.side_by_side { " of several blocks" } else { "" };
    let who = match order.turn {
        0 => "each warp runs to its next barrier".to_owned(),
        1 => format!("the warps{blocks} take turns of one instruction"),
        turn => format!("the warps{blocks} take turns of {turn} instructions"),
    };
    format!("{who}{}", if order.backwards { ", the last ones first" } else { "" })
}

/// Looks for an order in which the product is right, and for one in which it is wrong.
pub fn witness(run: &Run) -> Value {
    let mut tried = 0;
    let mut known: [Option<Order>; 2] = [None; 2];
    for order in Order::all() {
        let own = order == run.order && run.stopped.is_none();
        let c = if own { Some(run.c_at_end().to_vec()) } else { run.again(order, &mut Steps).ok() };
        tried += 1;
        let Some(c) = c else { continue };
        known[usize::from(run.wrong(&c).next().is_some())].get_or_insert(order);
        if known.iter().all(Option::is_some) {
            break;
        }
    }
    let [lucky, unlucky] = known;
    let words = match (lucky, unlucky) {
        (Some(lucky), Some(unlucky)) => {
            format!("the product is wrong if {}, and right if {}", words(unlucky), words(lucky))
        }
        (Some(_), None) => {
            format!("the product was right in all {tried} orders that were tried; that does not make a race harmless")
        }
        (None, Some(_)) => {
            format!("the product was wrong in all {tried} orders that were tried; the order alone is not the cause")
        }
        (None, None) => format!("the kernel came to an end in none of the {tried} orders that were tried"),
    };
    let [lucky, unlucky] = known.map(|order| order.map(|order| order.to_string()));
    json!({ "lucky": lucky, "unlucky": unlucky, "words": words })
}
