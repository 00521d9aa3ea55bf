// Light or dark: what the system asks for, until the reader says otherwise.

const KEY = 'superpose-theme';
const system = matchMedia('(prefers-color-scheme: dark)');
const listeners = [];

// Storage may be switched off in a browser; the choice then lasts as long as the page.
function stored() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

let chosen = stored();

/** 'light' or 'dark'. */
export const theme = () => (chosen === 'light' || chosen === 'dark' ? chosen : system.matches ? 'dark' : 'light');

/** Calls back when the theme has changed. */
export const onTheme = (listener) => listeners.push(listener);

/** Makes a button switch between the two. */
export function switchTheme(button) {
  const show = () => {
    document.documentElement.dataset.theme = theme();
    const other = theme() === 'dark' ? 'light' : 'dark';
    button.setAttribute('aria-label', `Switch to ${other} colours`);
    for (const listener of listeners) listener(theme());
  };
  button.addEventListener('click', () => {
    chosen = theme() === 'dark' ? 'light' : 'dark';
    try {
      localStorage.setItem(KEY, chosen);
    } catch {
      // Kept in memory alone.
    }
    show();
  });
  system.addEventListener('change', show);
  show();
}
