// The token of who is signed in: in this tab, or on this device if the person says so.

const KEY = "sophon.token";

export function storedToken(): string {
  return sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY) ?? "";
}

export function storeToken(token: string, stay: boolean): void {
  forgetToken();
  (stay ? localStorage : sessionStorage).setItem(KEY, token);
}

export function forgetToken(): void {
  sessionStorage.removeItem(KEY);
  localStorage.removeItem(KEY);
}
