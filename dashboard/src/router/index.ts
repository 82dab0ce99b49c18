export { href, type Search } from './address';
export { Link, type Target } from './link';
export { useGuard } from './guard';
export { go } from './navigate';
export { useParam } from './outlet';
export { type Codec, flag, json, oneOf, text, useSearchState, whole } from './search';
