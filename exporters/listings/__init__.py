"""What commands print: frames in, frames out, in the words and the order that a person reads."""
