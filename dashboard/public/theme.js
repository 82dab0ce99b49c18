// Sets the theme and the language before anything is painted. A file of its own: the page allows no inline script.
(() => {
  const root = document.documentElement;
  const read = (key) => {
    try {
      return localStorage.getItem(key);
    } catch {
      return null;
    }
  };
  const wanted = read('mailwright.theme');
  const dark = wanted ? wanted === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  root.dataset.theme = dark ? 'dark' : 'light';
  const language = read('mailwright.language') ?? navigator.language;
  root.lang = language.toLowerCase().startsWith('de') ? 'de' : 'en';
})();
