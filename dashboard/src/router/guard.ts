import { useEffect } from 'react';
import { guardPage } from './navigate';

/** Keeps the page while something on it is not saved: whatever leaves it asks this question before. */
export function useGuard(isUnsaved: boolean, question: string): void {
  useEffect(() => (isUnsaved ? guardPage(question) : undefined), [isUnsaved, question]);
}
