//! What the page of the book carries: all steps, smaller tiles where the usual ones show one block, questions, counters.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use common::basics::workspace;
use common::code::Source;
use common::code::nvrtc;
use course::explore::data::{Chapter, Counter, Data, Form, Kernel};
use course::explore::kernels::OfStep;
use course::explore::{forms, kernels};
use course::files;
use course::steps;
use explorer::matrices::Dtype;
use explorer::request::{self, RunRequest};
use explorer::run::Run;
use serde_json::Value;

use crate::pages::counted;

/// Everything.
pub fn contents() -> Result<Data> {
    let mut questions = questions()?;
    let mut data =
        Data { version: 1, fills: vec!["uniform".into(), "integers".into()], counters: counters()?, ..Data::default() };
    for step in steps::find()? {
        let mut of_step = kernels::of_step(&step)?;
        for (kernel, specialisations) in of_step.kernels.iter_mut().zip(&of_step.specialisations) {
            add_smaller(kernel, specialisations)?;
        }
        of_step.chapter.questions = questions.remove(&step.name).unwrap_or_default();
        let mut beyond = split_off(&mut of_step);
        data.chapters.push(of_step.chapter);
        data.kernels.extend(of_step.kernels);
        if let Some(chapter) = &mut beyond {
            chapter.questions = questions.remove(&chapter.id).unwrap_or_default();
        }
        data.chapters.extend(beyond);
    }
    let left = questions.keys().next();
    ensure!(left.is_none(), "questions.json asks about {:?}, which is no chapter", left.map_or("", String::as_str));
    Ok(data)
}

/// The chapter on the kernels of a step that run on tensor cores, which goes beyond the course; none if there are no such kernels.
fn split_off(of_step: &mut OfStep) -> Option<Chapter> {
    let on_tensor_cores = of_step.kernels.iter().zip(&of_step.specialisations);
    let on_tensor_cores = on_tensor_cores.filter(|(_, all)| all.iter().any(|known| known.only));
    let (first, others): (Vec<&Kernel>, Vec<&Kernel>) =
        on_tensor_cores.map(|(kernel, _)| kernel).partition(|kernel| kernel.role == "beyond");
    let kernels: Vec<String> = first.into_iter().chain(others).map(|kernel| kernel.id.clone()).collect();
    of_step.chapter.kernels.retain(|id| !kernels.contains(id));
    let chapter = Chapter {
        id: "tensor_cores".into(),
        title: "Beyond step 6: products on tensor cores".into(),
        kernels,
        ..Chapter::default()
    };
    (!chapter.kernels.is_empty()).then_some(chapter)
}

/// The questions of each chapter.
fn questions() -> Result<BTreeMap<String, Vec<Value>>> {
    let path = workspace::root().join("common/explorer/page/questions.json");
    serde_json::from_str(&files::read(&path)?)
        .with_context(|| format!("{} is not as it should be", workspace::display(&path)))
}

/// The counters with what they count; a metric is one that the words name.
fn counters() -> Result<Vec<Counter>> {
    let counter = |(name, words): (String, String)| {
        let metric = words.split('`').find(|part| part.starts_with("smsp__") || part.starts_with("l1tex__"));
        Counter { name, metric: metric.filter(|metric| !metric.contains(' ')).map(str::to_owned), words }
    };
    Ok(counted::explained()?.into_iter().map(counter).collect())
}

/// Adds a form with a smaller tile to a kernel whose usual one computes all of C in one block.
fn add_smaller(kernel: &mut Kernel, specialisations: &[common::Specialisation]) -> Result<()> {
    let mut added = vec![];
    for (form, specialisation) in kernel.forms.iter().zip(specialisations) {
        let candidates = forms::smaller(specialisation, form);
        if candidates.is_empty() {
            continue;
        }
        let source = Source::read(&workspace::root().join(&kernel.file))?;
        let compiler = nvrtc::find()?;
        let mut found = None;
        for candidate in candidates {
            // Not every kernel takes every tile; one that does not compile, or is wrong, is left out.
            let Ok(ptx) = source.compile_to_commit(&candidate, compiler) else { continue };
            let Ok(small) = forms::smaller_form(&candidate, form, &ptx) else { continue };
            if right(kernel, &small) {
                found = Some(small);
                break;
            }
        }
        added.extend(found);
    }
    // The form for any N and the one for multiples of 4 may have the same tile.
    for form in &mut added {
        if let Some(multiple) = form.when.get("N") {
            form.id = format!("{} v{multiple}", form.id);
        }
    }
    kernel.forms.extend(added);
    Ok(())
}

/// A request to run a form.
pub fn request(kernel: &Kernel, form: &Form, [m, n, k]: [u32; 3]) -> RunRequest {
    RunRequest {
        kernel: request::Kernel {
            ptx: form.ptx.clone(),
            source: kernel.source.clone(),
            file: kernel.file.clone(),
            plan: form.plan.clone(),
        },
        m,
        n,
        k,
        dtype: if form.dtype == "i32" { Dtype::I32 } else { Dtype::F32 },
        ..RunRequest::default()
    }
}

/// Whether a form computes the right product, without hazards.
fn right(kernel: &Kernel, form: &Form) -> bool {
    [[64, 64, 64], [33, 48, 20], [17, 33, 7]].into_iter().filter(|&size| form.plan.work(size).is_ok()).all(|size| {
        Run::new(&request(kernel, form, size)).is_ok_and(|run| {
            let c = run.tape.end.arrays.get(explorer::run::C).map(|c| c.to_vec()).unwrap_or_default();
            run.stopped.is_none()
                && run.wrong(&c).next().is_none()
                && run.hazards.iter().all(|found| found.hazard.kind.is_warning())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use course::explore::{packed_page, page};
    use explorer::engine::Engine;
    use serde_json::json;

    /// Each question asks about something that there is, and the run has an answer and a place to look at.
    #[test]
    fn every_question_is_answered_by_its_run() {
        let data = page::data(&files::read(&packed_page()).unwrap()).unwrap();
        let mut asked = 0;
        for (chapter, all) in questions().unwrap() {
            for question in all {
                let name = format!("{chapter}: {}", question["words"]);
                let id = question["kernel"].as_str().unwrap();
                let kernel = data.kernels.iter().find(|kernel| kernel.id == id).unwrap_or_else(|| panic!("{name}"));
                let form = match question["form"].as_str() {
                    Some(form) => kernel.forms.iter().find(|known| known.id == form),
                    None => kernel.forms.first(),
                };
                let form = form.unwrap_or_else(|| panic!("{name}: no such form"));
                let size: [u32; 3] = serde_json::from_value(question["size"].clone()).unwrap();
                let [m, n, k] = size;
                let mut engine = Engine::new();
                let order = question["order"].as_str().unwrap_or("warps");
                let run = json!({
                    "do": "run", "m": m, "n": n, "k": k, "dtype": form.dtype, "order": order,
                    "kernel": { "ptx": form.ptx, "source": kernel.source, "file": kernel.file, "plan": form.plan },
                });
                let ask = |engine: &mut Engine, request: &Value| {
                    let answer: Value = serde_json::from_str(&engine.answer(&request.to_string())).unwrap();
                    assert!(answer.get("error").is_none(), "{name}: {answer}");
                    answer
                };
                ask(&mut engine, &run);
                let mut request = json!({ "do": "question" });
                for part in ["metric", "per", "line", "contains", "array"] {
                    request[part] = question[part].clone();
                }
                let answer = ask(&mut engine, &request);
                assert!(answer["value"].is_number(), "{name}: {answer}");
                asked += 1;
            }
        }
        assert!(asked > 15, "{asked}");
    }
}
