/**
 * The path under which the service is published: empty, or such as `/mail` behind a proxy. The service writes it into the
 * page; the development server leaves the placeholder.
 */
export const base = (() => {
  const written = document.querySelector<HTMLMetaElement>('meta[name=mailwright-base]')?.content ?? '';
  return written.startsWith('__') ? '' : written;
})();

/** An address of the service, for links and frames. `path` begins with a slash. */
export function serviceUrl(path: string): string {
  return `${base}${path}`;
}
