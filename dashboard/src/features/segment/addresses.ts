/** The addresses in a text that somebody pasted: one a line, or with commas, semicolons or spaces between; each once. */
export function addressesIn(text: string): string[] {
  const parts = text.split(/[\s,;]+/).map((part) => part.replace(/^.*<|>.*$/g, '').trim());
  return [...new Map(parts.filter((part) => part.includes('@')).map((part) => [part.toLowerCase(), part])).values()];
}
