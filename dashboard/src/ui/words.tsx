import { Fragment } from 'react';

/** A text of the service. What it has between backticks, such as the name of a field, is set as code. */
export function Words({ text }: { text: string }) {
  return text.split(/`([^`]+)`/).map((piece, index) => (
    // the pieces of a text do not move; every second one is code
    // oxlint-disable-next-line react/no-array-index-key
    <Fragment key={index}>{index % 2 === 1 ? <code className="font-mono break-words">{piece}</code> : piece}</Fragment>
  ));
}
