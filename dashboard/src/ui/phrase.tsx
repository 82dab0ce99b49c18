import { Fragment, type ReactNode } from 'react';

/** A text of a catalogue with things in the places that it names: `{who} opened {mail}`. */
export function Phrase({ text, parts }: { text: string; parts: Readonly<Record<string, ReactNode>> }) {
  return text.split(/\{(\w+)\}/).map((piece, index) => (
    // the pieces of a text do not move; every second one is a name
    // oxlint-disable-next-line react/no-array-index-key
    <Fragment key={index}>{index % 2 === 1 ? parts[piece] : piece}</Fragment>
  ));
}
