# A file that does not parse is read as far as it goes.
# file: app/models/post.rb
class Post < ApplicationRecord
  has_many :comments, dependent: :destroy
  def broken(
end
# file: app/models/comment.rb
class Comment < ApplicationRecord
  belongs_to :post
end
