// What the browser keeps of this page. Storage may be switched off in it; a choice then lasts as long as the page.

/** What was kept under a name, or null. */
export function kept(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

/** Keeps a word under a name. */
export function keep(name, word) {
  try {
    localStorage.setItem(name, word);
  } catch {
    // The page's own memory has it.
  }
}
