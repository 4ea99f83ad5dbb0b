// The build provides these modules.
declare module "inline:module" {
  const base64: string;
  export default base64;
}
declare module "inline:worker" {
  const script: string;
  export default script;
}
