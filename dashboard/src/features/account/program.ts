/** Browsers, in an order in which those that name others as well come first. */
const BROWSERS: readonly (readonly [name: string, mark: RegExp])[] = [
  ['Edge', /\bEdg(?:A|iOS)?\/(\d+)/],
  ['Opera', /\bOPR\/(\d+)/],
  ['Samsung Internet', /\bSamsungBrowser\/(\d+)/],
  ['Firefox', /\b(?:Firefox|FxiOS)\/(\d+)/],
  ['Chrome', /\b(?:HeadlessChrome|Chrome|CriOS)\/(\d+)/],
  ['Safari', /\bVersion\/(\d+)[^ ]* (?:Mobile\/\S+ )?Safari/],
];
const SYSTEMS: readonly (readonly [name: string, mark: RegExp])[] = [
  ['Android', /Android/],
  ['iPhone', /iPhone/],
  ['iPad', /iPad/],
  ['Windows', /Windows/],
  ['macOS', /Mac OS X|Macintosh/],
  ['ChromeOS', /CrOS/],
  ['Linux', /Linux|X11/],
];
/** How much of an unknown program is shown. */
const MOST = 60;

/** A program by its `User-Agent`, as people call it: "Firefox 140, Linux". What is not known stays as it is. */
export function programOf(agent: string): string {
  const system = SYSTEMS.find(([, mark]) => mark.test(agent))?.[0];
  for (const [name, mark] of BROWSERS) {
    const version = mark.exec(agent)?.[1];
    if (version) return `${name} ${version}${system ? `, ${system}` : ''}`;
  }
  return agent.length > MOST ? `${agent.slice(0, MOST)}…` : agent;
}
