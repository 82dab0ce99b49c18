/** The languages of the dashboard. */
export type Language = 'en' | 'de';

/** The language of this page. `theme.js` sets it before anything is painted; changing it loads the page again. */
export const language: Language = document.documentElement.lang === 'de' ? 'de' : 'en';

/** Stores another language and loads the page again. */
export function changeLanguage(to: Language): void {
  localStorage.setItem('mailwright.language', to);
  location.reload();
}

/**
 * A catalogue of texts: `const t = texts({ en: {...}, de: {...} })`. Each feature has its own, in `texts.ts`. A text with
 * a value in it is a function; `plural` chooses forms.
 */
export function texts<T>(catalogue: { en: T; de: NoInfer<T> }): T {
  return catalogue[language];
}
