// Storage of the sign-in token: session storage, or local storage if the user stays signed in.

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
