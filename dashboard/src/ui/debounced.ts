import { useEffect, useState } from 'react';

/** How long somebody has to pause before what they type is searched for, in milliseconds. */
const PAUSE_MS = 150;

/** A value as it was once it had not changed for a while, such as what somebody types. */
export function useDebounced<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}

/** What somebody types to find something, and what of it is searched for, once they pause. */
export function useSearchText(): { typed: string; search: string; isTyping: boolean; type: (text: string) => void } {
  const [typed, type] = useState('');
  const search = useDebounced(typed.trim(), PAUSE_MS);
  return { typed, search, isTyping: typed.trim() !== search, type };
}
