import type { IconNode } from 'lucide';
import { createElement } from 'react';

/** A picture beside a word, from `lucide`. It says nothing by itself, so it is hidden from those who do not see it. */
export function Icon({ of, size = 16, className }: { of: IconNode; size?: number; className?: string }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={2}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden
      className={className}
    >
      {of.map(([tag, attributes], index) => createElement(tag, { ...attributes, key: index }))}
    </svg>
  );
}
