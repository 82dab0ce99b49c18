import { EditorView } from '@codemirror/view';

/** Lets the editor's style sheets carry the nonce of the page. */
export function withNonce() {
  const nonce = document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce;
  return nonce ? EditorView.cspNonce.of(nonce) : [];
}
