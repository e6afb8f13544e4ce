"""Sites as pictures, with a pointer and a keyboard."""
