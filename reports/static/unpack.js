// Data in a page: gzipped JSON in base64.

function bytes(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const binary = atob(base64);
  const array = new Uint8Array(binary.length);
  for (let position = 0; position < binary.length; position++) array[position] = binary.charCodeAt(position);
  return array;
}

async function unpacked(base64) {
  const stream = new Blob([bytes(base64)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}
