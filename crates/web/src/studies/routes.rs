//! Studies over HTTP.

use std::sync::Arc;

use axum::Json;
use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Deserialize;
use superpose_figure::Theme;
use superpose_lab::store::{csv, json_lines};

use super::Opened;
use super::export::{Export, body};
use super::view::{StudyDetail, StudyList};
use crate::app::{Answer, Shared};
use crate::error::ApiError;
use crate::extract::PathParams;
use crate::page::content_type;

pub async fn list(app: Shared) -> Answer<StudyList> {
    let studies = Arc::clone(&app.studies);
    let list = move || Ok(StudyList { studies: studies.list.iter().map(|study| study.summary()).collect() });
    app.disk.run(list).await.map(Json)
}

pub async fn show(app: Shared, PathParams(id): PathParams<usize>) -> Answer<StudyDetail> {
    let study = app.studies.get(id)?;
    let detail = move || {
        let (sections, facts) = study.shown();
        Ok(StudyDetail::new(study.summary(), facts, &sections))
    };
    app.disk.run(detail).await.map(Json)
}

#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum PageTheme {
    #[default]
    Light,
    Dark,
}

#[derive(Deserialize, JsonSchema)]
pub struct PictureQuery {
    #[serde(default)]
    theme: PageTheme,
}

/// A figure of a section, in the colours of a theme.
pub async fn picture(
    app: Shared,
    PathParams((id, name)): PathParams<(usize, String)>,
    query: Result<Query<PictureQuery>, QueryRejection>,
) -> Result<Response, ApiError> {
    let query = query.map_err(|error| ApiError::new(StatusCode::BAD_REQUEST, error.body_text()))?;
    let study = app.studies.get(id)?;
    let theme = match query.theme {
        PageTheme::Light => Theme::Light,
        PageTheme::Dark => Theme::Dark,
    };
    let svg = app.disk.run(move || draw(&study, &name, theme)).await?;
    Ok(([(header::CONTENT_TYPE, HeaderValue::from_static("image/svg+xml"))], svg).into_response())
}

fn draw(study: &Opened, name: &str, theme: Theme) -> Result<String, ApiError> {
    let (sections, _) = study.shown();
    let mut pictures = sections.iter().flat_map(|section| &section.pictures);
    let found = pictures.find(|picture| name.strip_suffix(".svg") == Some(picture.name));
    let missing = || ApiError::not_found(format!("there is no picture {name}"));
    found.map(|picture| picture.figure.svg(theme)).ok_or_else(missing)
}

pub async fn file(
    app: Shared,
    PathParams((id, name)): PathParams<(usize, String)>,
) -> Result<Response, ApiError> {
    let study = app.studies.get(id)?;
    let (listed, wanted) = (Arc::clone(&study), name.clone());
    let exists = move || Ok(listed.files().into_iter().any(|file| file.name == wanted));
    if !app.disk.run(exists).await? {
        return Err(ApiError::not_found(format!("there is no file {name}")));
    }
    let export: Option<Export> = match name.as_str() {
        "cells.csv" => Some(csv),
        "cells.jsonl" => Some(json_lines),
        _ => None,
    };
    let mut response = match export {
        Some(export) => {
            let permit = Arc::clone(&app.downloads).try_acquire_owned();
            let permit = permit.map_err(|_| ApiError::busy("too many downloads are in progress"))?;
            // Opened before the response starts, so that a failure is an error and not half a file.
            let store = app.disk.run(move || study.open_store().map_err(ApiError::not_found)).await?;
            body(store, export, permit).into_response()
        }
        None => {
            let wanted = name.clone();
            app.disk.run(move || content(&study, &wanted)).await?.into_response()
        }
    };
    let kind = content_type(&name).unwrap_or("application/octet-stream");
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    let last = name.rsplit('/').next().unwrap_or("file");
    if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{last}\"")) {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
    Ok(response)
}

/// A file of the folder, or one that is made from the summary of a store.
fn content(study: &Opened, name: &str) -> Result<Vec<u8>, ApiError> {
    match name {
        "runs.svg" => draw(study, name, Theme::Light).map(String::into_bytes),
        "runs.csv" => {
            let (sections, _) = study.shown();
            let mut tables = sections.iter().flat_map(|section| &section.tables);
            let table = tables.find(|table| table.name == "runs");
            let table = table.ok_or_else(|| ApiError::not_found("there is no file runs.csv"))?;
            Ok(table.csv().into_bytes())
        }
        _ => study.read(name).map_err(|error| ApiError::not_found(format!("{name}: {error}"))),
    }
}
