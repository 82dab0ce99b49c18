import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** Where `npm run dev` finds the service. Its base URL must be the address of the development server. */
const service = process.env.MAILWRIGHT_SERVICE ?? 'http://127.0.0.1:8080';

export default defineConfig(({ command }) => ({
  // Built files name each other by relative paths, so that they work under whatever path the service is published.
  base: command === 'serve' ? '/app/' : './',
  plugins: [react(), tailwindcss()],
  html: { cspNonce: '__NONCE__' },
  build: {
    target: 'es2023',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    manifest: true,
    chunkSizeWarningLimit: 2000,
  },
  server: { proxy: { '^/(?!app/)': service } },
}));
