export { href, type Search } from './address';
export { Link, type Target } from './link';
export { go, guardPage } from './navigate';
export { useParam } from './outlet';
export { type Codec, flag, json, oneOf, text, useSearchState, whole } from './search';
