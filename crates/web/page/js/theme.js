// Light or dark: what the system asks for, until the reader says otherwise.

import { keep, kept } from './keep.js';

const KEY = 'superpose-theme';
const system = matchMedia('(prefers-color-scheme: dark)');
const listeners = [];
let chosen = kept(KEY);

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
    keep(KEY, chosen);
    show();
  });
  system.addEventListener('change', show);
  show();
}
